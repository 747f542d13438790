"""Off-policy estimators: model, fitted Q-evaluation, doubly robust."""
