"""Evidence about demand in a log: observed rows, censored runs, bounds."""
