"""Orange juice: weekly sales of 11 brands in 83 stores, forecast two and three weeks ahead with known prices.

Protocol of TSPerf (Microsoft): 12 rounds, training up to week 135 + 2 (round - 1), forecasts of the second and third
week after it, with price, deal and feature of those weeks known; mean absolute percentage error.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.model.model import DemandAhead, Plan, StructuralDemand
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.types import Array, Floats

WHERE = (
    "install the R package bayesm (Debian: r-cran-bayesm) and write its table with R: data(orangeJuice, package = "
    "'bayesm'); write.csv(orangeJuice$yx, 'orange_juice.csv')"
)
ROUNDS, FIRST_END, APART = 12, 135, 2  # rounds, last week of the first training, and weeks between rounds
AHEAD = (2, 3)  # weeks after the training
BRANDS = 11
FEATURES = ("deal", "feat")
LATE = 3  # weeks for which a series may have no row before an end and is still forecast
LEAST_SHAPE = 0.05  # of a gamma distribution weighted by 1 / y
PUBLISHED = {"LightGBM": 36.28, "dilated CNN": 37.09, "ETS": 71.0}
PROBLEM = Problem(
    columns=Columns(series=("store", "brand"), period="week", sales="sales", price="price"), features=FEATURES
)


@dataclass(frozen=True, eq=False)
class JuiceRound:
    """One round: forecasts from the weeks up to `end`."""

    weeks: dict[str, Array]  # columns of all rows
    end: int
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"to-week-{self.end}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the rows up to the target weeks."""
        kept = self.weeks["week"] <= self.end + AHEAD[-1]
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(
            self.key, by, *(np.ascontiguousarray(values[kept]).tobytes() for values in self.weeks.values())
        )

    def run(self) -> Figures:
        """Sum of absolute percentage errors, number of forecasts, and of those within the 80 % band."""
        if self.entrant is not None:
            return self._of_entrant(self.entrant)
        model = StructuralDemand.fit(self._log(), AHEAD[-1] + LATE)
        coming = {name: self._ahead(model, name) for name in ("price", *FEATURES, "sales")}
        usual = model.usual_plan
        given = [_known(coming[name], usual.features[..., k]) for k, name in enumerate(FEATURES)]
        price = _known(coming["price"], usual.price)
        ahead = model.ahead(Plan(price, np.stack(given, axis=2)))
        week = model.panel.coming_period - self.end
        scored = np.isin(week, AHEAD) & ~np.isnan(coming["sales"])
        sales = coming["sales"][scored]
        forecasts = percentage_point(ahead), ahead.quantile(0.1), ahead.quantile(0.9)
        point, low, high = (each[scored] for each in forecasts)
        errors = 100 * np.abs(sales - point) / sales
        return {
            "errors": float(errors.sum()),
            "forecasts": float(len(sales)),
            "inside": float(np.count_nonzero((low <= sales) & (sales <= high))),
        }

    def _of_entrant(self, entrant: Entrant) -> Figures:
        """Errors of an entrant that has seen the weeks of training, and gets the target weeks without their sales."""
        past, coming = self.weeks["week"] <= self.end, np.isin(self.weeks["week"] - self.end, AHEAD)
        asked = entrant.start({name: values[past] for name, values in self.weeks.items()}, "sales")
        point = asked({name: values[coming] for name, values in self.weeks.items() if name != "sales"})
        sales = self.weeks["sales"][coming]
        return {"errors": float((100 * np.abs(sales - point) / sales).sum()), "forecasts": float(len(sales))}

    def _log(self) -> SalesLog:
        """Log of the weeks up to the end of training."""
        connection = duckdb.connect()
        connection.register(
            "weeks", {name: values[self.weeks["week"] <= self.end] for name, values in self.weeks.items()}
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "weeks.parquet"
            connection.execute(f"COPY weeks TO '{path}'")
            return read_log(path, PROBLEM, sales_only=True)

    def _ahead(self, model: StructuralDemand, column: str) -> Floats:
        """Values of a column in the coming periods of the model, NaN where there is no row."""
        kept = (self.weeks["week"] > self.end - LATE) & (self.weeks["week"] <= self.end + AHEAD[-1] + LATE)
        store, brand, week, values = (self.weeks[name][kept].tolist() for name in ("store", "brand", "week", column))
        keys = [(f"{place} / {product}", at) for place, product, at in zip(store, brand, week, strict=True)]
        value = dict(zip(keys, values, strict=True))
        found = [
            [value.get((name, week), np.nan) for week in weeks]
            for name, weeks in zip(model.panel.names.tolist(), model.panel.coming_period.tolist(), strict=True)
        ]
        return np.array(found)


def _known(values: Floats, otherwise: Floats) -> Floats:
    return np.where(np.isnan(values), otherwise, values)


def percentage_point(ahead: DemandAhead) -> Floats:
    """Forecast with the least expected absolute percentage error: the median of the law weighted by 1 / y.

    A gamma law with shape a, weighted by 1 / y, is one with shape a - 1 and the same scale.
    """
    shape = ahead.mean**2 / ahead.variance
    less = np.maximum(shape - 1.0, LEAST_SHAPE) / shape
    return DemandAhead(ahead.mean * less, ahead.variance * less, False, ahead.unit).quantile(0.5)


@dataclass(frozen=True, eq=False)
class OrangeJuice:
    """The board."""

    weeks: dict[str, Array]
    entrant: Entrant | None = None
    name: str = "orange-juice"
    source: str = (
        "data: Dominick's Finer Foods by R package bayesm; protocol and published figures: Microsoft TSPerf, "
        "https://github.com/microsoft/forecasting"
    )

    @classmethod
    def read(cls, data: Path) -> "OrangeJuice":
        """Read from the table `yx` of bayesm's orangeJuice, as CSV or Parquet."""
        prices = ", ".join(f"price{brand}" for brand in range(1, BRANDS + 1))
        query = (
            f"SELECT store, brand, week, list_extract([{prices}], CAST(brand AS INT)) AS price, round(exp(logmove)) AS "
            "sales, deal, feat FROM rows ORDER BY store, brand, week"
        )
        try:
            connection = duckdb.connect()
            rows = connection.read_parquet(str(data)) if data.suffix == ".parquet" else connection.read_csv(str(data))
            rows.create_view("rows")
            columns = connection.execute(query).fetchnumpy()
        except duckdb.Error as error:
            raise LostSalesError(f"{data} is not the table of orange juice ({WHERE}): {error}") from error
        whole = ("store", "brand", "week")
        return cls({name: np.asarray(each).astype(int if name in whole else float) for name, each in columns.items()})

    @property
    def parts(self) -> Sequence[JuiceRound]:
        """Rounds in order of time."""
        return [JuiceRound(self.weeks, FIRST_END + APART * each, self.entrant) for each in range(ROUNDS)]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Error beside each published one, and coverage of the 80 % bands."""
        names = ("errors", "forecasts", "inside")
        total = {name: sum(float(np.sum(each.get(name, 0.0))) for each in measured.values()) for name in names}
        error, coverage = total["errors"] / total["forecasts"], 100 * total["inside"] / total["forecasts"]
        count = int(total["forecasts"])
        found = [
            BoardRow("12 rounds", "forecast", "mean absolute percentage error", error, None, count, value, by)
            for by, value in PUBLISHED.items()
        ]
        covered = BoardRow("12 rounds", "forecast", "per cent of sales within the 80 % band", coverage, None, count)
        return found if self.entrant else [*found, covered]
