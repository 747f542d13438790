"""Demand model: a moving level times season times the response to prices, promotions and features."""
