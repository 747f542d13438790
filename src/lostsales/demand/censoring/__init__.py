"""What a log shows of demand: observed rows, censored runs, evidence."""
