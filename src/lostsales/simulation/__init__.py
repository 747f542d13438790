"""Scenarios, the simulator and the Gymnasium environments."""
