"""Off-policy estimators; `estimator.py` says what one is and how to add one.

One module an estimator: `model` (episodes replayed on the learned demand law, by `replay`), `fqe` (fitted
Q-evaluation, by `q_evaluation`) and `dr` (doubly robust). `overlap` measures whether the log shows a policy's actions.
"""
