"""Forecasts of demand by series: a level that moves, seasons that series share, and counts around them."""
