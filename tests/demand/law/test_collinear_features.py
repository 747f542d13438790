"""Features that copy the price or each other."""

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.price_slopes import price_slopes
from lostsales.demand.law.selection import fit_law

FAMILIES = (Family("linear", False),)


def shop(products: int) -> pd.DataFrame:
    """Products of different price; the cost is 70 % of the price, to the cent."""
    rng = np.random.default_rng(4)
    parts = []
    for product in range(products):
        usual = 2.0 + product
        price = usual * rng.choice([0.8, 0.9, 1.0, 1.2], 90)
        demand = rng.poisson(12 * (price / usual) ** -1.5)
        last = np.r_[price[0], price[:-1]]
        columns = {"series": f"p{product}", "period": np.arange(90), "stock": 60, "price": price, "order": demand}
        more = {"sales": demand, "cost": np.round(0.7 * price, 2), "last_price": last, "change": price - last}
        parts.append(pd.DataFrame(columns | more | {"weather": rng.normal(size=90), "tag_price": price}))
    return pd.concat(parts)


@pytest.mark.parametrize("products", [1, 5])
@pytest.mark.parametrize(
    ("features", "copies"),
    [
        (["tag_price"], ("tag_price",)),
        (["cost", "weather"], ("cost",)),
        (["weather", "last_price", "change"], ("change",)),
        (["weather", "last_price"], ()),
    ],
)
def test_a_copy_of_the_price_or_of_other_features_is_left_out_by_name(
    features: list[str], copies: tuple[str, ...], products: int
) -> None:
    table = shop(products)
    with_copies = read_log(table, Problem(features=features))
    model = fit_law(with_copies, families=FAMILIES)
    assert model.copies == copies
    assert any(", ".join(copies) in each for each in model.warnings) or not copies
    price_slopes(with_copies, model.sample, model.law, 0)
    kept = [each for each in features if each not in copies]
    others = fit_law(read_log(table, Problem(features=kept)), families=FAMILIES)
    moved, alone = (
        each.law.mean_of(each.law.inputs(market, price, lag), np.zeros(2, dtype=int))
        for each, market in ((model, model.evidence.market[:2]), (others, others.evidence.market[:2]))
        for price, lag in [(np.array([0.8, 1.2]) * (1.0 if products > 1 else 2.0), np.full(2, 1.0))]
    )
    # The price keeps the whole effect that it has without the copy.
    assert moved[1] - moved[0] == pytest.approx(alone[1] - alone[0], rel=0.1)
