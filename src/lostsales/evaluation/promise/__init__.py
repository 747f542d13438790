"""Advice on a gain: concerns about log and estimates, sensitivity to unobserved confounders, recommendation."""
