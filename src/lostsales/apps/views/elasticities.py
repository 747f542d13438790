"""Elasticities of products and of their groups, as a person and a program read them."""

from typing import Any

import numpy as np
from rich.text import Text

from lostsales.apps.views.console import out, plain_table
from lostsales.demand.law.elasticities import ProductElasticities

SHOWN = 10  # products, half of them the most and half the least elastic
NAMED = 5


def products_json(found: ProductElasticities) -> dict[str, Any]:
    """All that `print_products` shows, and every product."""
    columns = found.names, found.rows, found.elasticity, found.error, found.own_share, found.moved
    return {
        "products": [
            {
                "product": name,
                "rows": rows,
                "elasticity": elasticity,
                "std_error": error,
                "own_share": share,
                "price_moved": moved,
            }
            for name, rows, elasticity, error, share, moved in zip(*(each.tolist() for each in columns), strict=True)
        ],
        "groups": [
            {
                "attribute": each.attribute,
                "level": each.level,
                "products": each.products,
                "elasticity": each.elasticity,
                "std_error": each.error,
            }
            for each in found.groups
        ],
    }


def still_prices(found: ProductElasticities) -> tuple[str, ...]:
    """A warning where prices of products never moved."""
    still = found.names[~found.moved]
    if len(still) == 0:
        return ()
    more = f" and {len(still) - NAMED:,} more" if len(still) > NAMED else ""
    own = "its response is" if len(still) == 1 else "their responses are"
    names = ", ".join(map(str, still[:NAMED]))
    return (f"the price of {names}{more} never varied: {own} estimated from other products",)


def print_products(found: ProductElasticities) -> None:
    """Groups, then the products that respond most and least."""
    if found.groups:
        table = plain_table("Elasticity by group", "group", "products", "elasticity", "s.e.")
        for each in found.groups:
            label = Text(f"{each.attribute} = {each.level}")
            table.add_row(label, f"{each.products:,}", f"{each.elasticity:+.2f}", f"{each.error:.2f}")
        out.print(table)
        out.print()
    moved = np.flatnonzero(found.moved)
    order = moved[np.argsort(found.elasticity[moved])]
    shown = order if len(order) <= SHOWN else np.r_[order[: SHOWN // 2], order[-SHOWN // 2 :]]
    table = plain_table("Elasticity by product", "product", "rows", "elasticity", "95 % band", "own data")
    for place, at in enumerate(shown):
        if len(order) > SHOWN and place == SHOWN // 2:
            table.add_row(Text(f"... {len(order) - SHOWN:,} more, in --json"), "", "", "", "", style="dim")
        band = f"{found.low[at]:+.2f} to {found.high[at]:+.2f}"
        name, share = Text(str(found.names[at])), f"{found.own_share[at]:.0%}"
        table.add_row(name, f"{found.rows[at]:,}", f"{found.elasticity[at]:+.2f}", band, share)
    out.print(table)
    out.print("Own data: weight of the product's own rows; the rest is that of similar products.", style="dim")
    out.print()
