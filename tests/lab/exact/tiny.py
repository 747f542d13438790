"""A scenario so small that all its histories can be enumerated."""

from typing import Any

from lostsales.simulation.scenario import Scenario


def tiny(**changes: Any) -> Scenario:
    """Demand 0 to 3, two prices, three orders, two markets; shocks of 1.5 make ties, and censoring has a cost."""
    keys: dict[str, Any] = {
        "name": "tiny",
        "horizon": 4,
        "arrival": "before",
        "prices": [2, 4],
        "orders": [0, 2, 3],
        "capacity": 3,
        "longest_run": 2,
        "discount": 0.9,
        "costs": {"lost": 0.5, "order": 1.5, "holding": 1.5},
        "start": {"stock": 1, "last_demand": 1},
        "features": {"economy": {"kind": "markov", "transition": [[0.7, 0.3], [0.2, 0.8]], "start": [0.5, 0.5]}},
        "demand": {
            "law": "linear",
            "intercept": 1,
            "rho": 1,
            "price": -0.5,
            "features": {"economy": 0.8},
            "noise": {"kind": "discrete", "values": [-1, 0, 1.5], "probabilities": [0.3, 0.5, 0.2]},
            "maximum": 3,
        },
    }
    demand = keys["demand"] | changes.pop("demand", {})
    return Scenario.model_validate(keys | changes | {"demand": demand})
