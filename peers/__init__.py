"""Peers: offline learners of d3rlpy, in a separate environment because it pins old packages.

`make peers` runs three programs that exchange arrays: `peers.logs` (ours) writes transitions, `peers/train.py` (theirs)
learns from them, `peers.score` (ours) evaluates the learned policies in the simulator.
"""
