"""Peers: offline learners of a public package, in an environment of their own because it pins old packages.

`make peers` runs three programs that exchange plain arrays: `peers.logs` (ours) writes transitions, `peers/train.py`
(theirs) learns from them, `peers.score` (ours) lets what was learned run in the simulator.
"""
