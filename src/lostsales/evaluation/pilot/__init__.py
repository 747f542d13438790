"""Pilots: a policy tried on some series or periods, and monitored."""
