"""`lostsales fleet fit`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.fleet_status import print_status
from lostsales.apps.commands.options import (
    MOST,
    MOST_SEED,
    Json,
    Method,
    MethodConfig,
    ProblemFile,
    Processes,
    Query,
    Quick,
    RayAddress,
    names,
)
from lostsales.apps.console import progress, show
from lostsales.errors import LostSalesError


def fleet_fit(
    source: Annotated[
        str,
        typer.Argument(help="A folder of Parquet files of any size, a file, a pattern, or with --query a database."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the store; an interrupted fit is resumed.")],
    by: Annotated[
        str,
        typer.Option(
            help="Columns, the coarsest first (store,category): products with equal values are fitted together."
        ),
    ] = "",
    method: Method = "planner",
    query: Query = None,
    problem: ProblemFile = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; overrides --config."),
    ] = None,
    config: MethodConfig = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same bytes; by default 0.")
    ] = None,
    shard_size: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Maximum number of products fitted together; by default 500.")
    ] = None,
    least_rows: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Rows that a product needs to be fitted; by default 10.")
    ] = None,
    drop_bad_rows: Annotated[
        bool,
        typer.Option(
            "--drop-bad-rows", help="Leave out bad rows only; otherwise a product with bad rows is not fitted."
        ),
    ] = False,
    quick: Quick = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Delete an unfinished version with other settings or rows.")
    ] = False,
    workers: Processes = 2,
    ray: RayAddress = None,
    as_json: Json = False,
) -> None:
    """Fit every product of a source, shard by shard, and make that the current version of a store.

    If interrupted, the same command resumes: no finished shard is lost or repeated. A product that cannot be
    fitted is listed in `failures.parquet` with the reason, and is treated as a new product of its shard.

    Example: `lostsales fleet fit sales --out fleet --by department --method base-stock`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fit import LEAST_ROWS, SHARD_SIZE, fit_fleet
    from lostsales.apps.fleet.status import status_of
    from lostsales.data.settings import checked_json, read_toml, with_settings
    from lostsales.learn.learner import LEARNERS

    keys = with_settings({} if config is None else read_toml(config), settings or (), "rules.multiple=6")
    learner = checked_json(LEARNERS.get(method), keys | ({} if seed is None else {"seed": seed}), f"method {method}")
    engine = engine_of(workers, ray)
    try:
        with progress("learning", unit="products") as report:
            fit_fleet(
                source,
                out,
                learner.quick() if quick else learner,
                query=query,
                problem=problem,
                by=names(by),
                shard_size=shard_size or SHARD_SIZE,
                least_rows=least_rows or LEAST_ROWS,
                drop_bad_rows=drop_bad_rows,
                restart=restart,
                engine=engine,
                progress=report,
            )
    except KeyboardInterrupt:
        raise LostSalesError("stopped; the same command resumes from the finished shards") from None
    found = status_of(out)
    show(as_json, found.as_json, lambda: print_status(found))
