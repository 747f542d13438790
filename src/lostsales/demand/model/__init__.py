"""The demand model: level, season and response to prices and features, with censored demand."""
