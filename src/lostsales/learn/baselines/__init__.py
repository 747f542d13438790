"""Baselines: behaviour cloning, threshold rules, and FQI without depth."""
