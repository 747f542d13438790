"""Learners: from a log to a policy."""
