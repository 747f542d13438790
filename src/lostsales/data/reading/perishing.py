"""Goods that perish in a table: shelf life, cost of waste, which units are sold first, and what was thrown away."""

from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.data.balance import stock_after
from lostsales.data.log import AnyLog
from lostsales.data.problem import Problem
from lostsales.data.product_keys import MOST_LIFE
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.types import Floats, exceeds


def read_perishing(reader: ColumnReader, problem: Problem) -> dict[str, Floats | None]:
    """Fields of a log of goods that perish, each (rows,); None without a shelf life."""
    keys = problem.product
    if keys.shelf_life is None:
        return dict.fromkeys(("wasted", "shelf_life", "waste_cost", "from_oldest"))

    def one(given: Any) -> Floats:
        return reader.number(given) if isinstance(given, str) else np.full(reader.table.rows, float(given or 0.0))

    life, oldest = read_life(reader, problem), one(keys.oldest_first)
    reader.findings.check(oldest > 1, f"{keys.oldest_first} must be from 0 to 1: the share sold oldest first", oldest)
    return {
        "wasted": reader.optional(problem.columns.wasted),
        "shelf_life": life,
        "waste_cost": one(keys.waste_cost),
        "from_oldest": oldest,
    }


def read_life(reader: ColumnReader, problem: Problem) -> Floats:
    """Shelf life of every row, (rows,)."""
    given = problem.product.shelf_life
    life = reader.number(given) if isinstance(given, str) else np.full(reader.table.rows, float(given or 0.0))
    off = (life < 1) | (life > MOST_LIFE) | (life != np.rint(life))
    reader.findings.check(off, f"{given} must be a whole number of periods from 1 to {MOST_LIFE:,}", life)
    return life


def check_waste(findings: Findings, problem: Problem, wasted: Floats | None, left: Floats) -> None:
    """No more is thrown away than was left when the sales were over."""
    if wasted is not None:
        name = problem.columns.wasted
        findings.check(exceeds(wasted, left), f"{name} must not exceed what was left unsold", wasted, among=left)


def read_ages(reader: ColumnReader, problem: Problem, stock: Floats) -> Floats | None:
    """Stock of open rows by remaining life, the last period first, (rows, longest shelf life); None where not given.

    From columns `age_1`, `age_2`, ...: units in the first, the second, ... period of their life.
    """
    given = [at for at in range(1, MOST_LIFE + 1) if f"age_{at}" in reader.table.columns]
    if problem.product.shelf_life is None or not given:
        return None
    life = read_life(reader, problem)
    longest = int(np.clip(np.nanmax(life, initial=1), 1, MOST_LIFE))
    if missing := [f"age_{at}" for at in range(1, longest + 1) if at not in given]:
        reader.findings.add(f"missing column {', '.join(map(repr, missing))}: units live {longest} periods")
        return None
    ages = np.column_stack([reader.number(f"age_{at}") for at in given])
    late = np.where(np.array(given) > life[:, None], ages, 0.0).sum(axis=1)
    reader.findings.check(late > 0, "units older than the shelf life must be 0", late)
    total = ages.sum(axis=1)
    off = exceeds(total, stock) | exceeds(stock, total)
    name = problem.columns.stock
    reader.findings.check(off, f"age_1, age_2, ... must add up to {name}", total, among=stock)
    left = life[:, None] - np.arange(1, longest + 1)  # place of an age among remaining lives, from 0
    found = np.zeros((len(stock), longest))
    rows, at = np.nonzero(left >= 0)
    found[rows, left[rows, at].astype(np.int64)] = ages[rows, at]
    return found


def with_waste(log: AnyLog) -> AnyLog:
    """The log whose balance of the stock has the waste, as recorded, else as the next stock of a row shows it."""
    if log.shelf_life is None or log.stock is None:
        return log
    moved = np.zeros(len(log)) if log.adjustment is None else log.adjustment
    wasted = log.wasted
    if wasted is None:
        short = stock_after(log) - np.r_[np.asarray(log.stock)[1:], 0.0]
        wasted = np.where(log.has_next, np.clip(short, 0.0, np.maximum(log.available - log.sales, 0.0)), 0.0)
    return replace(log, wasted=wasted, adjustment=moved - wasted)
