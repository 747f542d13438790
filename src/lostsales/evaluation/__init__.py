"""Off-policy evaluation: profit of a policy with its interval, comparison of methods, diagnostics, reports."""
