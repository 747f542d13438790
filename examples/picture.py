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
    day, sales, demand, empty = np.arange(DAYS), log.sales[:DAYS], truth.demand[:DAYS], log.censored[:DAYS]
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.bar(day, sales, color=SEEN, width=0.75, label="sales: what the till counts")
    hidden = day[empty]
    lost = (demand - sales)[empty]
    style = {"color": "white", "edgecolor": HIDDEN, "hatch": "///", "width": 0.75}
    axes.bar(hidden, lost, bottom=sales[empty], label="demand that nobody saw", **style)
    axes.set_xlabel("day")
    axes.set_ylabel("units")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.16), ncols=2, frameon=False, fontsize=10)
    figure.savefig(TARGET, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
