"""Demand forecasts by series: a moving level, shared seasonal indices, and count distributions around them."""
