"""Price and order grids in words and as JSON, by series if series differ."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale, usual_price
from lostsales.data.units import common_step
from lostsales.errors import SettingError
from lostsales.types import Floats

LISTED = 12  # candidates of a grid that are listed one by one; longer grids are summarised
SHOWN_SERIES = 3  # series whose grids are shown in words
HEADING = "may be recommended"


@dataclass(frozen=True)
class CandidateFacts:
    """Candidates of a grid; relative ones are multiples of the usual price or the mean sales of a series."""

    count: int
    lowest: float
    highest: float
    multiple: float | None  # that all have, None where there is none
    relative: bool
    values: tuple[float, ...]


@dataclass(frozen=True)
class SeriesGridFacts:
    """Lowest and highest candidates of one series."""

    series: str
    lowest_price: float
    highest_price: float
    lowest_order: float
    highest_order: float


@dataclass(frozen=True)
class GridFacts:
    """Prices and orders that may be recommended."""

    prices: CandidateFacts
    orders: CandidateFacts | None  # None in a log without orders
    price_endings: tuple[float, ...]  # that relative prices are rounded to
    price_step: float
    series: tuple[SeriesGridFacts, ...]  # if series have their own grids

    @classmethod
    def of(cls, candidates: CandidateGrid, log: SalesLog) -> "GridFacts":
        """Describe the grids of the series of a log.

        >>> from lostsales.simulation.simulator import simulate
        >>> log, _ = simulate("released", episodes=5, seed=1)
        >>> GridFacts.of(CandidateGrid.of(log), log).as_lines()
        [('may be recommended', 'prices 2, 4, 6'), ('', 'orders 0 to 15, in steps of 1 (16 values)')]
        """
        multiple = candidates.order_multiple if candidates.relative_orders else common_step(candidates.orders)
        return cls(
            prices=_facts(candidates.prices, candidates.relative_prices, candidates.price_step or None),
            orders=None
            if log.order is None
            else _facts(candidates.orders, candidates.relative_orders, multiple or None),
            price_endings=candidates.price_endings,
            price_step=candidates.price_step,
            series=_by_series(candidates, log) if candidates.relative else (),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def as_lines(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        prices, orders = self.prices, self.orders
        text = f"prices {_span(prices)}"
        if prices.relative:
            text = f"prices {_span(prices)} times each series' usual price{self._rounding()}"
        lines = [(HEADING, text)]
        if orders is not None:
            of = " times each series' mean sales" if orders.relative else ""
            listed = orders.count <= LISTED
            unit = "multiples" if orders.relative else "steps"
            cases = f", in {unit} of {_number(orders.multiple)}" if orders.multiple and not listed else ""
            lines.append(("", f"orders {_span(orders, of + cases)}"))
        for each in self.series[:SHOWN_SERIES]:
            own = f"{each.series}: prices {_number(each.lowest_price)} to {_number(each.highest_price)}"
            bought = f", orders {_number(each.lowest_order)} to {_number(each.highest_order)}"
            lines.append(("", own + ("" if orders is None else bought)))
        if (more := len(self.series) - SHOWN_SERIES) > 0:
            lines.append(("", f"... and {more:,} more series"))
        return lines

    def _rounding(self) -> str:
        if not self.price_step:
            return ""
        if self.price_endings == (0.0,):
            return f", rounded to {self.price_step:g}"
        return f", ending in {' or '.join(f'{each:.2f}' for each in self.price_endings)}"


def recommendable(log: SalesLog) -> GridFacts | str:
    """Prices and orders that are recommended from a log by default, or the reason why there are none."""
    try:
        return GridFacts.of(CandidateGrid.of(log, log.problem.rules), log)
    except SettingError as error:
        return str(error)


def _facts(values: Floats, relative: bool, multiple: float | None) -> CandidateFacts:
    return CandidateFacts(len(values), float(values[0]), float(values[-1]), multiple, relative, tuple(values.tolist()))


def _by_series(candidates: CandidateGrid, log: SalesLog) -> tuple[SeriesGridFacts, ...]:
    order = np.argsort(log.products.names.astype(str))
    names, first = log.products.names[order], log.products.first_segment[order]
    prices, orders = candidates.prices_of(usual_price(log)[first]), candidates.orders_of(series_scale(log)[first])
    columns = (prices[:, 0], prices[:, -1], orders[:, 0], orders[:, -1])
    return tuple(SeriesGridFacts(str(name), *map(float, each)) for name, *each in zip(names, *columns, strict=True))


def _span(candidates: CandidateFacts, after: str = "") -> str:
    if candidates.count <= LISTED:
        return ", ".join(map(_number, candidates.values)) + after
    return f"{_number(candidates.lowest)} to {_number(candidates.highest)}{after} ({candidates.count:,} values)"


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
