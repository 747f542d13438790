"""Demand from censored data: censoring, survival curves, the law of demand, audit."""
