"""Command line: no mathematics."""
