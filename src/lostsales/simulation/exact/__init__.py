"""Exact references: the oracle and pi*, by dynamic programming on the law of a scenario."""
