"""Fitted Q-iteration on replayed transitions."""
