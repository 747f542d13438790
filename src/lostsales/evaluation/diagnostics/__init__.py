"""Terms of the paper's regret bound, measured for a log and a given policy, each with advice."""
