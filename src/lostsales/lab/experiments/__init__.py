"""The paper's experiment: learners by size of the log, tested in simulation, and a check of the paper's claims."""
