"""Peers: what users run without this project, each on `log.csv` of the folder: `python verb_peers.py FUNCTION`."""

import sys

import numpy as np
import pandas as pd

DISCOUNT, ITERATIONS = 0.9, 10
COSTS = {"order": 3.0, "holding": 1.0}  # of `steady`


def transitions() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States, actions, profits, next states, and the actions there are; stock-outs are taken for demand."""
    log = pd.read_csv("log.csv")
    follows = (log["series"].to_numpy()[1:] == log["series"].to_numpy()[:-1]).nonzero()[0]
    others = [name for name in log.columns if name not in ("series", "period", "price", "order", "sales", "stockout")]
    state = np.column_stack([log[others].astype(float), log.groupby("series")["sales"].shift(1).fillna(0.0)])
    action = log[["price", "order"]].to_numpy(float)
    earned = log["price"] * log["sales"] - COSTS["order"] * log["order"]
    profit = (earned - COSTS["holding"] * (log["stock"] - log["sales"]).clip(lower=0)).to_numpy(float)
    grid = np.unique(action, axis=0)
    return state[follows], action[follows], profit[follows], state[follows + 1], grid[:: max(1, len(grid) // 40)]


def fitted_q(regressor: object) -> None:
    """Fitted Q-iteration with a regressor of scikit-learn."""
    state, action, profit, after, grid = transitions()
    target = profit.copy()
    for _ in range(ITERATIONS):
        regressor.fit(np.column_stack([state, action]), target)  # type: ignore[attr-defined]
        values = [
            regressor.predict(np.column_stack([after, np.tile(each, (len(after), 1))]))  # type: ignore[attr-defined]
            for each in grid
        ]
        target = profit + DISCOUNT * np.max(values, axis=0)


def kernel_ridge_q() -> None:
    """FQI with kernel ridge regression of scikit-learn."""
    from sklearn.kernel_ridge import KernelRidge

    fitted_q(KernelRidge(kernel="rbf", gamma=0.1, alpha=1.0))


def extra_trees_q() -> None:
    """FQI with extremely randomised trees of scikit-learn (Ernst, Geurts and Wehenkel, 2005)."""
    from sklearn.ensemble import ExtraTreesRegressor

    fitted_q(ExtraTreesRegressor(50, min_samples_leaf=5, n_jobs=2, random_state=0))


def cox_regression() -> None:
    """Expected demand of stock-outs by the proportional hazards of lifelines."""
    from lifelines import CoxPHFitter

    log = pd.read_csv("log.csv")
    log["seen"] = ~log["stockout"].astype(bool)
    columns = log[["sales", "seen", "price", "stock"]].astype(float)
    columns["sales"] = columns["sales"].clip(lower=1e-3)
    model = CoxPHFitter(penalizer=0.01).fit(columns, "sales", "seen")
    model.predict_expectation(columns[columns["seen"] == 0].head(50_000))


def statsforecast_then_base_stock() -> None:
    """AutoETS of statsforecast on sales, and two standard errors of safety stock."""
    from statsforecast import StatsForecast
    from statsforecast.models import AutoETS

    log = pd.read_csv("log.csv")
    frame = pd.DataFrame({"unique_id": log["series"], "ds": log["period"], "y": log["sales"].astype(float)})
    found = StatsForecast([AutoETS()], freq=1, n_jobs=2).forecast(df=frame, h=7, level=[95])
    found.groupby("unique_id")["AutoETS-hi-95"].max()


def discrete_cql() -> None:
    """DiscreteCQL of d3rlpy, 5,000 steps."""
    import d3rlpy

    state, action, profit, _, _ = transitions()
    grid, index = np.unique(action, axis=0, return_inverse=True)
    ends = np.zeros(len(state))
    ends[49::49] = 1
    ends[-1] = 1
    data = d3rlpy.dataset.MDPDataset(
        state.astype(np.float32), index.reshape(-1, 1), profit.astype(np.float32), ends, action_size=len(grid)
    )
    d3rlpy.algos.DiscreteCQLConfig(gamma=DISCOUNT).create(device=False).fit(
        data,
        n_steps=5_000,
        n_steps_per_epoch=5_000,
        show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )


if __name__ == "__main__":
    globals()[sys.argv[1]]()
