"""Draws docs/pictures/stockouts.png: observed sales and censored demand of one series."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

TARGET = Path(__file__).parents[1] / "docs" / "pictures" / "stockouts.png"
DAYS = 30
SEEN, HIDDEN = "#0072B2", "#D55E00"


def main() -> None:
    """One series of `steady` under a base-stock rule that orders too little."""
    scenario = Scenario.load("steady")
    log, truth = simulate(scenario, named_policy("base-stock:20@4.25", scenario), episodes=1, seed=4)
    day, sales, demand, empty = np.arange(DAYS) + 1, log.sales[:DAYS], truth.demand[:DAYS], log.censored[:DAYS]
    lost = np.where(empty, demand - sales, 0)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.bar(day, sales, color=SEEN, width=0.75, label="sold, as the till recorded it")
    style = {"color": "white", "edgecolor": HIDDEN, "hatch": "///", "width": 0.75}
    axes.bar(day[empty], lost[empty], bottom=sales[empty], label="wanted, but sold out: recorded nowhere", **style)
    axes.set_title(f"A month in a shop: {sales.sum():.0f} sold, {(sales + lost).sum():.0f} wanted", loc="left", pad=28)
    axes.set_xlabel("day")
    axes.set_ylabel("units")
    axes.set_xticks([1, *range(5, DAYS + 1, 5)])
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.01, 1.13), ncols=2, frameon=False, fontsize=10)
    figure.savefig(TARGET, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
