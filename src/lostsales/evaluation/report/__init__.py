"""The contents of a report on a policy."""
