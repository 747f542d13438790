"""Survival analysis of censored demand: Kaplan-Meier, Beran's estimator, imputation."""
