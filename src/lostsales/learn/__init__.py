"""Learners: history blocks, regression, C-FQI, PC-FQI and fusion."""
