"""What a policy would have earned, diagnostics, baselines."""
