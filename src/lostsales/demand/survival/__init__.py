"""Survival analysis of hidden demand: Kaplan-Meier, Beran's estimator, imputation."""
