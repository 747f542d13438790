"""The planner: dynamic programming on the learned law of demand."""
