"""Exact references: the oracle and pi*, by dynamic programming on the true law of demand."""
