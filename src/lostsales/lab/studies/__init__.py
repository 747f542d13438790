"""Calibration studies: many simulated logs, whose truth is known, against what the methods say of them."""
