"""What a policy would have earned, with an interval; coverage and regret diagnostics; baselines."""
