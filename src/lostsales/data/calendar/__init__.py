"""The calendar of openings: which periods are missing because the shop was closed."""
