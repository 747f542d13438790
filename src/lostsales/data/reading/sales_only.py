"""Tables of sales alone: no stock, no orders, and perhaps neither prices nor stock-out flags."""

from collections.abc import Collection

from lostsales.data.problem import Problem


def as_sales_only(problem: Problem, columns: Collection[str], allowed: bool) -> tuple[Problem, bool]:
    """The problem as a table names its columns, and whether the table may lack stock-out flags and prices.

    A table of sales alone may where that is `allowed`, or where its columns have the names of forecasting libraries.
    """
    named = problem.named_as_in(columns)
    names = named.columns
    sales_only = (allowed or named is not problem) and names.stock not in columns and names.order not in columns
    named = named.with_share_in(columns)
    priced = names.price in columns or named.price is not None or named.prices is not None
    return (named.model_copy(update={"price": 1.0}) if sales_only and not priced else named), sales_only
