"""`lostsales example`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json
from lostsales.apps.console import print_json, print_verdict, screen


def example(
    name: Annotated[str, typer.Argument(help="The example: corner-shop.")] = "corner-shop",
    out: Annotated[
        Path, typer.Option(help="Where to write the sales table (.csv); its problem file goes beside it.")
    ] = (Path("sales.csv")),
    truth: Annotated[
        Path | None, typer.Option(help="Write the true demand of every row (.csv), which no real shop knows.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an example: 26 weeks of a corner shop with twelve products, promotions and stock-outs.

    Example: `lostsales example corner-shop --out corner-shop.csv`
    """
    from lostsales.data.example import write_example

    files = write_example(name, out, truth)
    if as_json:
        print_json({"files": [str(path) for path in files]})
        return
    print_verdict("good", f"Wrote {', '.join(map(str, files))}.")
    screen.print(f"Next: lostsales audit {out}", highlight=False, soft_wrap=True)
