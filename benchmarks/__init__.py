"""Figures that must be reached, each a ratio against a peer measured in the same run."""
