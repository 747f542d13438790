"""Baselines: what a reviewer would compare a learner with. Each is fitted by `lostsales.fit(log, method=NAME)`."""
