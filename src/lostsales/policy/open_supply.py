"""Orders on the way when the day opens: by today's rows, or by recent orders and receipts."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.pipelines import off_lead_time
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.supply import pipeline_texts
from lostsales.data.sublogs import with_open_period
from lostsales.types import Bools, Floats, Ints, exceeds

SHORT_PAST = "orders may be on the way that recent rows do not reach back to: taken to be none"
UNKNOWN_PIPELINE = "nothing known of what is on the way: taken to be nothing"


@dataclass(frozen=True, eq=False)
class OpenSupply:
    """The pipeline of today's rows."""

    problem: Problem
    given: Floats | None  # (rows, pipeline length)
    rows: int
    told: Floats | None = None  # the same by recent rows, NaN where they do not reach back
    flags: dict[str, Bools] = field(default_factory=dict)

    @property
    def pipeline(self) -> Floats | None:
        """Units on the way by remaining periods, (rows, pipeline length); None where there are no columns."""
        if not self.problem.pipeline_length:
            return None
        if self.given is not None:
            return self.given
        return np.zeros((self.rows, self.problem.pipeline_length)) if self.told is None else np.nan_to_num(self.told)

    def after(
        self, log: SalesLog, last_row: Ints, stock: Floats, findings: Findings, columns: tuple[str, ...]
    ) -> "OpenSupply":
        """Supply after recent rows, a log of these columns: their pipeline is used, or compared with a given one."""
        length = self.problem.pipeline_length
        if not length:
            return self
        names = self.problem.columns
        _refuse_late(log, names.received)
        told = _told(log, last_row, stock, length, names.on_order in columns or names.on_order_in(1) in columns)
        if self.given is not None:
            fixed = self.problem.lead_times.is_fixed
            off = exceeds(self.given, told) | (exceeds(told, self.given) & (fixed | exceeds(self.given, 0.0)))
            wrong = np.asarray(off.any(axis=1))
            wanted = f"{self.problem.columns.on_order} must be what recent rows ordered and did not receive"
            if wrong.any():
                findings.check(wrong, wanted, pipeline_texts(self.given), among=pipeline_texts(told))
            findings.raise_if_any()
            return self
        none = last_row < 0
        short = np.isnan(told).any(axis=1)
        return replace(self, told=told, flags={UNKNOWN_PIPELINE: none, SHORT_PAST: short & ~none})


def _refuse_late(log: SalesLog, column: str) -> None:
    """Raise where a recent receipt contradicts the lead time of all orders: what is on the way is then unknown."""
    late, due = off_lead_time(log)
    if not late.any():
        return
    findings = Findings(
        "recent", lambda row: f"period {spelled(log.period[row])} of series {log.names[log.series[row]]}"
    )
    lead = log.problem.lead_times.longest
    findings.check(late, f"{column} must be what was ordered {lead - 1} periods before", log.received, among=due)
    findings.add('where deliveries are late, let lead times be learned: supply.lead_time = "learn"')
    findings.raise_if_any()


def _told(log: SalesLog, last_row: Ints, stock: Floats, length: int, says_pipeline: bool) -> Floats:
    """Pipeline by recent rows, (rows, length); NaN where they do not reach back far enough."""
    ends = np.r_[log.starts[1:], len(log)] - 1
    opening = np.asarray(log.stock)[ends].copy()
    has = last_row >= 0
    opening[log.series[last_row[has]]] = stock[has]
    open_log = with_open_period(log, log.features[ends], opening, log.period[ends])
    opened = np.r_[open_log.starts[1:], len(open_log)] - 1
    found = np.asarray(open_log.pipeline)[opened]  # it has columns, as lead times are longer than 1
    # Orders of the evening before the first row are not in the table.
    first = open_log.starts + (log.problem.order_placed == "close")
    known = opened[:, None] - length + np.arange(length) >= first[:, None]
    known |= says_pipeline
    told = np.full((len(last_row), length), np.nan)
    told[has] = np.where(known, found, np.nan)[log.series[last_row[has]]]
    return told
