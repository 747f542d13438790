"""Audit of a log: identifiability and tests of the assumptions."""
