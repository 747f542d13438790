"""Experiments: many logs, many learners, one table, and what it says about the paper's claims."""
