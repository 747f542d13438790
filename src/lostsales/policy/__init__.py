"""Actions, policies and the roll-out."""
