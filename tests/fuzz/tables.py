"""Tables at random: each is read right, twice alike, or refused in one clear error; what is read is used by every verb.

python -m tests.fuzz.tables --cases 100000 --seed 7 --jobs 2
"""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading import cells, files
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.fuzz.fuzzed_tables import FuzzedTable, fuzzed_table
from tests.fuzz.odd_files import damaged_file, extreme_numbers, odd_csv, odd_frame, odd_names, odd_problem, odd_type
from tests.fuzz.odd_shops import odd_parts, odd_shop
from tests.fuzz.running import main

MAKERS: tuple[Callable[[np.random.Generator, Path], FuzzedTable], ...] = (
    *(fuzzed_table,) * 5, *(odd_type, odd_csv, extreme_numbers, odd_names, damaged_file, odd_problem, odd_frame),
    *(odd_shop, odd_parts),
)  # fmt: skip
AGAIN, USED = 0.2, 0.05  # of the tables that are read
PROPOSED, ASKED = 0.03, 0.03  # of all tables
PROBLEM = Problem(arrival="before", costs=Costs(lost=1, order=1, holding=1))


def table_case(seed: int, number: int, folder: Path) -> str:
    """Read a table, sometimes twice; sometimes let the verbs work with it."""
    rng = np.random.default_rng([seed, number])
    setattr(files, "connect", quickly_connected)  # noqa: B010, which the module does not export
    table = MAKERS[int(rng.integers(len(MAKERS)))](rng, folder)
    problem = table.problem or PROBLEM
    if rng.random() < PROPOSED:
        answered(lambda: proposed(table.source))
    if rng.random() < ASKED:
        answered(lambda: asked(table.source, rng))
    try:
        log = read_log(table.source, problem)
    except LostSalesError as error:
        check_message(str(error))
        if table.price is not None and not table.may_be_refused:
            raise AssertionError(f"{table.what} is refused") from error
        return "refused"
    assert table.price is not None or table.may_be_read, f"{table.what} is accepted"
    if table.price is not None:
        np.testing.assert_array_equal(np.sort(log.price), np.sort(table.price), err_msg=table.what)
    again = read_log(table.source, problem) if rng.random() < AGAIN else log
    for field in ("names", "period", "price", "sales", "stock", "order"):
        np.testing.assert_array_equal(getattr(log, field), getattr(again, field), err_msg=f"{table.what}, read again")
    if rng.random() >= USED:
        return "read"
    use(log, rng)
    return "used"


def check_message(message: str) -> None:
    """An error says something, and not much: no dump of the table."""
    assert message.strip()
    assert len(message) < 20_000, f"a message of {len(message):,} characters: {message[:300]}"


def use(log: SalesLog, rng: np.random.Generator) -> None:
    """One verb on the log: an answer, or one error."""
    verb = VERBS[int(rng.integers(len(VERBS)))]
    answered(lambda: verb(log))


def answered(work: Callable[[], object]) -> None:
    """An answer without control sequences, or one error."""
    with redirect_stdout(io.StringIO()) as shown:
        try:
            work()
        except LostSalesError as error:
            check_message(str(error))
    assert not set(shown.getvalue()) & set("\x1b\x07\x9b\u202e"), "a control sequence is printed"


def proposed(source: Any) -> None:
    """As `init` does: what it proposes can be read."""
    import tomllib

    from lostsales.apps.console import print_json
    from lostsales.data.proposal.propose import propose

    found = propose(source)
    print_json(found.as_json())
    Problem.model_validate(tomllib.loads(found.text))


def asked(source: Any, rng: np.random.Generator) -> None:
    """As `recommend` does, with the table as recent rows, as the open day, or both; the answers are the same twice."""
    from lostsales.policy.recommendation import recommendation
    from tests.fuzz.made_policies import made

    policy = made("newsvendor" if rng.random() < 0.5 else "base-stock in dozens")
    day = {"series": ["s0"], "period": [99], "stock": [3.0], "department": ["bakery"], "order_cost": [1.0]}
    tables = [(source, pd.DataFrame(day)), (None, source), (source, source)][int(rng.integers(3))]
    first, second = (recommendation(policy, *tables) for _ in range(2))
    for name, values in first.columns.items():
        np.testing.assert_array_equal(values, second.columns[name])


def inspected(log: SalesLog) -> None:
    """As `inspect` does."""
    from lostsales.apps.console import print_facts, print_json
    from lostsales.data.describe import describe

    facts = describe(log)
    print_json(facts.as_json())
    print_facts("log", facts.as_lines())


def audited(log: SalesLog) -> None:
    """As `audit` does."""
    from lostsales.apps.commands.audit import print_audit
    from lostsales.apps.console import print_json
    from lostsales.demand.audit.audit import audit

    found = audit(log)
    print_json(found.as_json())
    print_audit("log", found)


def imputed(log: SalesLog) -> None:
    """As `impute` does."""
    from lostsales.apps.console import print_json
    from lostsales.demand.filled_log import summary
    from lostsales.demand.survival.imputation import impute_by_curves

    print_json(summary(log, impute_by_curves(log, replicates=2)))


def fitted(log: SalesLog) -> None:
    """As `fit`, `recommend` and loading do."""
    import tempfile

    import lostsales

    log = log.decisions("fit")
    for method in ("newsvendor", "base-stock"):
        policy: Any = lostsales.fit(log, method)
        with tempfile.TemporaryDirectory() as folder:
            policy.save(Path(folder) / "policy")
            lostsales.load(Path(folder) / "policy")


def written(log: SalesLog) -> None:
    """As `write_log` does; read again, it is the same."""
    import tempfile

    from lostsales.data.writing import write_log

    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "parquet"):
            path = Path(folder) / f"log.{ending}"
            write_log(log, path)
            again = read_log(path)
            assert again.names.tolist() == log.names.tolist()
            np.testing.assert_array_equal(again.price, log.price)


VERBS: tuple[Callable[[SalesLog], None], ...] = (inspected, audited, imputed, fitted, written)


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    connection = cells._shared()  # that of texts as well
    connection.execute("SET threads = 1")
    return connection


_schemas = count()


def quickly_connected() -> duckdb.DuckDBPyConnection:
    """A schema of its own in one database: opening a database takes most of the time of reading a small file."""
    number = next(_schemas)
    cursor = _shared().cursor()
    if number >= 4:
        cursor.execute(f"DROP SCHEMA IF EXISTS s{number - 4} CASCADE")
    cursor.execute(f"CREATE SCHEMA s{number}")
    cursor.execute(f"SET schema = 's{number}'")
    return cursor


if __name__ == "__main__":
    main(table_case, "tests.fuzz.tables")
