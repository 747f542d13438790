"""The page of a report: findings and figures put into its template."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from lostsales.apps.figures_shown import ESTIMATORS, exact, number, numbers, rounded
from lostsales.apps.gains import BEST_ROWS, shown_products
from lostsales.apps.report.figures import (
    draw_bars,
    draw_fit,
    draw_gains,
    draw_map,
    draw_response,
    draw_shift,
    draw_trace,
    draw_trade_off,
)
from lostsales.apps.report.html import write_page
from lostsales.evaluation.assortment import Gain, amount
from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.report.contents import ReportContents
from lostsales.evaluation.report.next_decisions import NextDecisions
from lostsales.evaluation.report.policy_map import PolicyMap
from lostsales.evaluation.report.traces import MOST_PERIODS, Trace
from lostsales.evaluation.results import Evaluation
from lostsales.evaluation.service import ServiceFigures
from lostsales.policy.provenance import ADVISED
from lostsales.types import Floats, Ints

WIDE, HALF, NARROW = 930.0, 410.0, 350.0  # pixels of the figures
MOST_BARS = 9  # of a histogram, the last one for all beyond
SECTIONS = (  # what a manager needs first, theory last
    ("lost", "Lost sales"),
    ("decisions", "Next decisions"),
    ("products", "Gains by product"),
    ("gains", "Gains"),
    ("service", "Service and stock"),
    ("back-test", "Back-test"),
    ("change", "Changes"),
    ("price", "Price response"),
    ("runs", "Runs of stock-outs"),
    ("policy", "Policy map"),
    ("diagnostics", "Regret bound"),
    ("made", "How it was made"),
)
MOST_DECISIONS = 50  # products whose decision is shown
MOST_TARGETS = 20  # groups of products whose target of service is shown
MOST_LOOKED_AT = 20  # products to look at first that are shown


@dataclass(frozen=True)
class ReportOrigin:
    """Origin of a report: command, seed and files."""

    method: str
    log: str | None  # name of its file
    lines: tuple[tuple[str, str, bool], ...]  # name, text, and whether it is code
    penalty: str | None = None  # U of the policy, and whether it is the paper's


def write_report_page(found: ReportContents, made: ReportOrigin, path: Path) -> None:
    """Write the page of a report."""
    decided, assortment = _decided(found.decisions), found.evaluation.assortment
    money = found.currency or "money"
    write_page(
        "report.html",
        {"money": _money, "sentence": _sentence},
        path,
        made=made,
        sections=_sections(found),
        decisions=found.decisions,
        decided=decided,
        opens=sorted({each["period"] for each in decided}),
        assortment=assortment,
        period=found.period_word,
        in_money=f" ({found.currency})" if found.currency else "",
        product_rows=None if assortment is None else shown_products(assortment.products),
        totals=_totals(found, made.method),
        served=_served(found),
        trade_off=found.trade_off,
        trade_off_figure=found.trade_off and draw_trade_off(found.trade_off, money, found.period_word, HALF),
        targets=[each.sentence for each in found.targets[:MOST_TARGETS]],
        most_looked_at=MOST_LOOKED_AT,
        best_rows=BEST_ROWS,
        shows_demand=any(each["demand"] for each in decided),
        shows_pipeline=any(each["arrivals"] for each in decided),
        estimators=ESTIMATORS,
        values_of=_values,
        facts=found.facts,
        audit=found.audit,
        model=found.model,
        response=found.response,
        maps=found.maps,
        change=found.action_changes,
        evaluation=found.evaluation,
        comparison=found.comparison,
        back_test=found.back_test,
        beside=found.comparison_sentence,
        held_out=found.held_out,
        basis=found.basis_sentence,
        diagnostics=found.diagnostics,
        verdict=_verdict(found),
        cards=_cards(found),
        traces=[_trace(trace, found.period_word) for trace in found.traces],
        run_lengths=_run_lengths(found.audit.run_lengths),
        depths=_depths(found.observed_at_depth, found.censored_at_depth),
        response_figure=found.response and draw_response(found.response, found.period_word, HALF),
        fit_figure=found.model and draw_fit(found.model.shares, HALF),
        markets=["the usual" if not each.market else each.market for each in found.maps.maps],
        any_outside=any(panel.outside.any() for each in found.maps.maps for panel in each.panels),
        panels_by_market=[_panels(each, found) for each in found.maps.maps],
        shifts=[
            (shift, draw_shift(shift, unit, HALF))
            for shift, unit in ((found.action_changes.price, f"{money} a unit"), (found.action_changes.order, "units"))
        ],
        gains=_gains(found, made.method),
    )


def _money(value: float, signed: bool = False) -> str:
    return "-" if not np.isfinite(value) else amount(value, signed)


def _sentence(text: str) -> str:
    """Sentence with a capital letter and a full stop; a name such as max_depth is not changed."""
    first = text.split(" ", 1)[0]
    return f"{text if '_' in first else text[:1].upper() + text[1:]}."


def _verdict(found: ReportContents) -> dict[str, str]:
    best, earned = found.evaluation.best, found.evaluation.earned.profit
    shown = {
        "title": _sentence(found.evaluation.sentence),
        "advice": ADVISED[found.evaluation.policy_verdict(held_out=found.held_out is not None).advice],
    }
    if found.evaluation.withheld:
        return shown | {"kind": "loss", "text": "The figures below depend on it: do not act on them."}
    if best is None or best.gain is None or best.profit is None:
        return shown | {"kind": "", "text": f"The log earned {earned.value:,.2f} per period."}
    kind = _kind(best.gain, found.evaluation)
    by = ESTIMATORS.get(best.estimator, best.estimator)
    text = f"It would earn {best.profit.value:,.2f} per period, the log earned {earned.value:,.2f}; estimated by {by}."
    if (assortment := found.evaluation.assortment) is not None:
        total, over = assortment.total.usual
        kind = _kind(total, found.evaluation)
        was, choice = assortment.earned.usual[0].value, assortment.choice.sentence
        if assortment.choice.products and not assortment.choice.kept:  # then the title has its figures
            choice = f"use it for all {assortment.products_in_log:,} products"
        money = f" {assortment.currency}" if assortment.currency else ""
        text = f"{_sentence(choice)} All products earned {amount(was, signed=False)}{money} {over}. Estimated by {by}."
    return shown | {"kind": kind, "text": text}


def _kind(gain: Interval, evaluation: Evaluation) -> str:
    """The colour of the verdict: no green where there is a concern."""
    if evaluation.concerns:
        return "doubt"
    return "gain" if gain.proven else "loss" if gain.high < 0 else ""


def _cards(found: ReportContents) -> list[tuple[str, str, str]]:
    best, earned = found.evaluation.best, found.evaluation.earned

    def card(name: str, each: Interval | None, signed: bool = False) -> list[tuple[str, str, str]]:
        if each is None:
            return []
        return [(name, _money(each.value, signed), f"{_money(each.low, signed)} to {_money(each.high, signed)}")]

    cards = [("stock-outs", f"{found.facts.stockout_share:.1%}", f"of {found.facts.rows:,} rows")]
    money = f" ({found.currency})" if found.currency else ""
    loss = found.audit.stockout_loss
    lost = [] if (tile := loss.tile) is None else [(f"{tile[0]}{money if loss.margin is not None else ''}", *tile[1:])]
    if (assortment := found.evaluation.assortment) is not None:
        total, (earned_over, over) = assortment.total, assortment.earned.usual
        gains = {"per period": total.period} if total.week is None else {"per week": total.week, "per year": total.year}
        proven, number_of = sum(each.proven for each in assortment.products), len(assortment.products)
        return [
            *lost,
            *(each for name, gain in gains.items() for each in card(f"gain {name}, all products{money}", gain, True)),
            *card(f"earned {over}{money}", earned_over),
            ("products with a proven gain", f"{proven:,}", f"of {number_of:,}"),
            *cards,
        ]
    cards = [*lost, *cards, *card("profit earned per period", earned.profit)]
    if best is not None and not found.evaluation.withheld:
        cards += card("profit by the policy", best.profit) + card("gain per period", best.gain, signed=True)
        cards += card("gain in cash", best.cash_gain, signed=True)
    return cards


def _sections(found: ReportContents) -> list[tuple[str, str]]:
    """Figures of the page."""
    absent = set() if found.decisions else {"decisions"}
    absent |= set() if _served(found) else {"service"}
    absent |= {"products"} if found.evaluation.assortment is None else set()
    absent |= {"back-test"} if found.back_test is None else set()
    absent |= {"diagnostics"} if found.diagnostics is None else set()
    return [each for each in SECTIONS if each[0] not in absent]


def _decided(found: NextDecisions | None) -> list[dict[str, Any]]:
    """The decisions as a table shows them."""
    if found is None:
        return []
    shown = found.decisions[:MOST_DECISIONS]
    prices = exact(np.array([(each.price, each.last_price) for each in shown]).reshape(-1))
    demands = rounded(np.array([np.nan if each.expected_demand is None else each.expected_demand for each in shown]))
    return [
        {
            "product": each.product,
            "period": each.period,
            "price": price,
            "last_price": "" if price == last_price else f"was {last_price}",
            "order": number(each.order, 6),
            "stock": number(each.stock, 6),
            "arrivals": each.arrivals or "",
            "demand": "" if each.expected_demand is None else demand,
            "chance": "" if each.stockout_chance is None else f"{each.stockout_chance:.0%}",
            "gain": None if each.gain is None else each.gain.usual[0],
            "chosen": each.chosen,
            "look_at": each.look_at,
        }
        for each, price, last_price, demand in zip(shown, prices[::2], prices[1::2], demands, strict=True)
    ]


def _trace(trace: Trace, period: str) -> dict[str, Any]:
    last = f", the last {MOST_PERIODS} {period}s" if len(trace.period) == MOST_PERIODS else ""
    return {
        "name": trace.name,
        "note": f"{trace.stockout_share:.0%} stock-outs{last}",
        "wide": draw_trace(trace, period, WIDE),
        "narrow": draw_trace(trace, period, NARROW),
    }


def _run_lengths(lengths: dict[int, int]) -> Markup | None:
    if not lengths:
        return None
    counts = np.array([lengths.get(each, 0) for each in range(1, max(lengths) + 1)])
    names = _folded_names(1, len(counts))
    return draw_bars(names, {"hidden-demand": _folded(counts)}, "stock-outs in a row (periods)", "runs", HALF)


def _depths(known: Ints, hidden: Ints) -> Markup:
    bars = {"known": _folded(known), "hidden-demand": _folded(hidden)}
    return draw_bars(_folded_names(0, len(known)), bars, "depth (stock-outs just before)", "rows", HALF)


def _folded(counts: Ints) -> Floats:
    """Bars that can be read, the last for all others together."""
    return np.asarray(np.r_[counts[: MOST_BARS - 1], counts[MOST_BARS - 1 :].sum()][: len(counts)], dtype=np.float64)


def _folded_names(first: int, count: int) -> list[str]:
    names = [str(first + place) for place in range(min(count, MOST_BARS))]
    return names if count <= MOST_BARS else [*names[:-1], f"{names[-1]}+"]


def _panels(shown: PolicyMap, found: ReportContents) -> list[dict[str, Any]]:
    """Price and order of each depth, shaded on one scale over all depths and markets."""
    scales = {
        what: np.unique(
            np.concatenate([getattr(panel, what).ravel() for each in found.maps.maps for panel in each.panels])
        )
        for what in ("price", "order")
    }
    names = {0: "after a known demand", 1: "after 1 stock-out"}
    return [
        {
            "depth": panel.depth,
            "name": names.get(panel.depth, f"after {panel.depth} stock-outs"),
            "rows": panel.rows,
            "figures": [
                (what.capitalize(), unit, draw_map(panel, what, getattr(panel, what), scales[what], HALF))
                for what, unit in (("price", f"{found.currency or 'money'} a unit"), ("order", "units"))
            ],
        }
        for panel in shown.panels
    ]


def _gains(found: ReportContents, method: str) -> dict[str, Markup] | None:
    estimated = [
        (name, each.interval, "estimator" if place else "method")
        for place, (name, each) in enumerate(_totals(found, method))
    ]
    if not estimated:
        return None
    unit = f"gain in profit {_totals(found, method)[0][1].over} ({found.currency or 'money'})"
    return {"wide": draw_gains(estimated, unit, WIDE), "narrow": draw_gains(estimated, unit, NARROW)}


def _totals(found: ReportContents, method: str) -> list[tuple[str, Gain]]:
    """Gain of the policy and of the methods next to it, over all products where there are some."""
    best = found.evaluation.best
    own = f"{method}, held out" if found.held_out else f"{method}, may be in-sample"
    shown = [] if best is None else [(own, best.gain, found.evaluation.assortment)]
    if found.comparison is not None and found.held_out:  # only like is shown next to like
        shown += [(f"{each.method}, held out", each.gain, each.assortment) for each in found.comparison.candidates]
    return [
        (name, Gain(gain, "per period") if products is None else products.total.usual)
        for name, gain, products in shown
        if gain is not None
    ]


def _served(found: ReportContents) -> list[tuple[str, ServiceFigures]]:
    """Service and stock of the log, of the policy and of the methods next to it; none where nothing was replayed."""
    best = found.evaluation.best
    if best is None or best.service is None:
        return []
    shown = [("current practice", best.service.log), ("the policy", best.service.policy)]
    if found.comparison is not None and found.held_out:
        shown += [(each.method, each.service.policy) for each in found.comparison.candidates if each.service]
    return shown


def _values(each: Diagnostic) -> str:
    if each.by_depth is not None:
        by_depth = each.by_depth.tolist()
        return ", ".join(map(number, by_depth) if all(map(float.is_integer, by_depth)) else numbers(*by_depth))
    return "-" if each.value is None else number(each.value)
