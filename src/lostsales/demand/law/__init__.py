"""The law of demand: families, estimation, selection, calibration, price response."""
