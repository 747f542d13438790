"""Checks of the claims: exact references, experiments, public benchmarks, calibration studies and PPO."""
