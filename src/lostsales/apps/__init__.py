"""Command line and report: no mathematics."""
