"""Action grid, business rules, views and history blocks, the period, roll-out, recommendations, policy files."""
