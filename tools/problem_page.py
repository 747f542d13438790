"""Writes docs/problem.md from the model of the problem: `python -m tools.problem_page`."""

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lostsales.data.problem import Problem
from lostsales.data.setting_fields import nested_settings, table_fields
from lostsales.data.settings import to_toml

PAGE = Path(__file__).parents[1] / "docs" / "problem.md"
HEAD = """# Every key of the problem file

Written by `python -m tools.problem_page` from `lostsales.Problem`, whose arguments have the same names.

The problem file says when orders arrive, what things cost, and what the columns are called. `sales.toml` next to
`sales.csv` is found automatically, another is given by `--problem`. `lostsales init sales.csv` proposes it. Every key
has a default.

```toml
arrival = "before"
features = ["promotion", {name = "weekday", kind = "categorical"}]
attributes = ["category"]

[costs]
lost = 2
order = "purchase_price"
holding = 0.05

[columns]
series = ["Store ID", "Product ID"]
period = "Date"
sales = "Units Sold"
```
"""


def page() -> str:
    """The whole page: the keys at the top of the file, then those of each table."""
    lines = [HEAD, "## Top of the file", "", "These keys come before the first table.", "", *_rows(Problem)]
    for key, model in nested_settings(Problem).items():
        lines += ["", f"## {_heading(key)}", "", _about(model), "", *_rows(model)]
    return "\n".join(lines) + "\n"


def models() -> dict[str, type[BaseModel]]:
    """The problem, under the empty key, and every table within it."""
    return {"": Problem} | nested_settings(Problem)


def example(model: type[BaseModel], key: str) -> Any:
    """The example of a key; a table has its own rows."""
    return (model.model_fields[key].examples or [None])[0]


def _heading(key: str) -> str:
    is_table = isinstance(Problem.model_fields[key].default, BaseModel)
    return f"Table `[{key}]`" if is_table else f"A table in `{key}`"


def _about(model: type[BaseModel]) -> str:
    return re.sub(r"\s+", " ", (model.__doc__ or "").split("\n\n")[0]).strip()


def _rows(model: type[BaseModel]) -> list[str]:
    rows = ["| key | type | default | meaning | example |", "|---|---|---|---|---|"]
    for each in table_fields(model):
        if isinstance(model.model_fields[each.name].default, BaseModel):
            continue
        inline = to_toml({"v": [example(model, each.name)]}).strip().removeprefix("v = [")[:-1]
        shown = f"{each.name} = {inline}"
        default = f"`{each.default}`" if each.default else ""
        cells = (f"`{each.name}`", each.type, default, each.description, f"`{shown}`")
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return rows


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
