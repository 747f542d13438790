"""The module that the installed entry point of `fqe` names."""

from lostsales.evaluation.estimators.fqe import fitted_q_evaluation as fitted_q_evaluation
