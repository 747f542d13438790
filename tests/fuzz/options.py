"""Every option and argument of every command with odd values: an answer, or one message and exit code 2.

python -m tests.fuzz.options --cases 3000 --seed 1
"""

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer

from tests.fuzz.running import main, new_folder

HUGE = "9" * 20
VALUES = (
    "-1", "0", "-0", "+5", HUGE, f"-{HUGE}", "9" * 5_000, "nan", "inf", "-inf", "1e400", "1e-400", "1.5", "0x10", "٣",
    "1,1", "", " ", "\n", "x", ",", "1,,2", "true", "\x1b[31m", "\x9b2J", "a\x00b", "\udcff", "[/b]", "%s{}", "*",
    "**", "[", "x" * 300, "a" * 100_000, "-", "--", "~", ".", "..", "/", "/dev/null", "/dev/zero", "/dev/stdin",
    "no/such/file.csv", "pipe", "pipe.csv", "key=value", "=", "a=", "=1", f"a{'.a' * 9_999}=1", f"a={'[' * 9_999}",
    f"a={HUGE}", "horizon=nan", "costs.lost=inf", "log.csv", "log.toml", "policy", "shop.toml", "today.csv", "link",
    "folder", "damaged.csv", "bomb.toml", "../up.csv", "sqlite:///log.csv", "sqlite:", "duckdb:///none.db", "postgresql://",
    "postgresql://u:s3cret@127.0.0.1:1/db", "postgresql://u:s3cret/@db", "SELECT 1",
)  # fmt: skip
# Arguments, then options, with which a command takes little time; None: a flag.
BASES: dict[str, tuple[list[str], dict[str, str | None]]] = {
    "simulate": (["shop.toml"], {"--episodes": "2"}),
    "example": (["corner-shop"], {"--out": "new.csv"}),
    "init": (["log.csv"], {"--out": "-"}),
    "inspect": (["log.csv"], {}),
    "aggregate": (["log.csv"], {"--out": "new.csv"}),
    "audit": (["log.csv"], {}),
    "impute": (["log.csv"], {"--replicates": "2", "--out": "filled.csv"}),
    "demand": (["log.csv"], {"--replicates": "2"}),
    "forecast": (["log.csv"], {"--horizon": "2", "--out": "new.csv"}),
    "methods": ([], {}),
    "fit": (["log.csv"], {"--method": "newsvendor", "--out": "new"}),
    "recommend": (["policy"], {"--today": "today.csv"}),
    "evaluate": (["policy", "log.csv"], {"--quick": None, "--rows": "60", "--estimator": "fqe"}),
    "compare": (["log.csv"], {"--methods": "newsvendor", "--estimator": "fqe", "--quick": None, "--rows": "300"}),
    "backtest": (["log.csv"], {"--method": "newsvendor", "--windows": "1", "--quick": None}),
    "report": (["policy", "log.csv"], {"--methods": "", "--horizon": "5", "--windows": "0", "--out": "page.html"}),
    "pilot": (["log.csv"], {"--policy": "policy", "--out": "new.json"}),
    "monitor": (["pilot.json", "log.csv"], {}),
    "benchmark": (["vn2", "none"], {"--out": "new"}),
    "solve": (["shop.toml"], {"--target": "oracle", "--horizon": "3", "--out": "new"}),
    "serve": (["policy"], {"--check": None, "--decisions": "new.db"}),
    "mcp": (["policy"], {"--check": None, "--decisions": "new.db"}),
    "keys create": ([], {"--keys": "keys.json", "--name": "anna"}),
    "keys list": ([], {"--keys": "keys.json"}),
    "keys revoke": (["anna"], {"--keys": "keys.json"}),
    "calibrate": (["shop.toml"], {"--series": "5", "--replications": "1", "--estimator": "fqe"}),
    "experiment": (
        ["shop.toml"],
        {
            "--levels": "5",
            "--runs": "1",
            "--methods": "newsvendor",
            "--workers": "1",
            "--test-episodes": "2",
            "--out": "new",
        },
    ),
}
BASES |= {
    "fleet fit": (["sales.parquet"], {"--out": "new", "--method": "newsvendor", "--workers": "1"}),
    "fleet status": (["store"], {}),
    "fleet audit": (["store"], {"--workers": "1"}),
    "fleet recommend": (["store"], {"--today": "today.csv", "--workers": "1"}),
    "fleet compare": (["store"], {"--quick": None, "--products": "2", "--workers": "1"}),
    "fleet report": (["store"], {"--quick": None, "--out": "page.html", "--workers": "1"}),
    "fleet activate": (["store", "1"], {}),
}
SLOW = {("compare", "--methods"), ("experiment", "--methods")}  # where nothing means everything
NOTHING = ("", " ", ",", "\n")


def option_case(seed: int, number: int, folder: Path) -> str:
    """One command with one odd value; the order of the cases is drawn by the seed."""
    cases = commands()
    command, parameter, arguments = cases[int(np.random.default_rng(seed).permutation(len(cases))[number % len(cases)])]
    for name, content in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "link").symlink_to(folder / "log.csv")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.csv")
    code, shown, error = called(arguments, folder)
    what = f"{command} {parameter} {arguments!r:.300}"
    assert code in (0, 2), f"{what} ends with {code}: {error[-300:]}"
    assert not set(shown + error) & set("\x1b\x07\x9b\x00"), f"{what} prints a control sequence"
    assert "s3cret" not in shown + error or error.startswith("Usage:"), f"{what} prints a password"
    if code == 2:
        assert error.strip(), f"{what} says nothing"
        assert not shown, f"{what} prints {shown[:100]}"
        given = max(map(len, arguments))  # which the parser's own messages repeat
        assert len(error) < 10_000 + 1.2 * given, f"{what} prints {len(error):,} characters"
    for name in INPUTS[command]:
        assert (folder / name).read_bytes() == files()[name], f"{what} changed {name}"
    return "refused" if code else "done"


# What each command reads where nothing else is asked for; it must be there afterwards.
INPUTS = {command: tuple(name for name in each[0] if "fleet" not in command) for command, each in BASES.items()}
INPUTS["recommend"] = ("policy", "today.csv")
INPUTS["evaluate"] = INPUTS["report"] = ("log.csv",)  # the policy gets the verdict
INPUTS |= {"keys revoke": (), "benchmark": (), "example": ()}


@cache
def commands() -> list[tuple[str, str, list[str]]]:
    """Command, parameter, and the whole of its arguments, of every case there is."""
    from lostsales.apps.cli import app

    found = []
    every = _flattened(typer.main.get_command(app))
    assert set(every) == set(BASES), "a command without a base here"
    for command, (arguments, options) in BASES.items():
        parameters = [each for each in every[command].params if not getattr(each, "is_flag", False)]
        places = [each.name for each in parameters if each.param_type_name == "argument"]
        for parameter in parameters:
            for value in VALUES:
                if parameter.param_type_name == "argument":
                    at = places.index(parameter.name)
                    name, given = parameter.name, [*arguments[:at], value, *arguments[at + 1 :], *_flat(options)]
                else:
                    name = parameter.opts[0]
                    given = [*arguments, *_flat(options | {name: value})]
                if (command, name) not in SLOW or value not in NOTHING:
                    found.append((command, name, [*command.split(), *given]))
    return found


def _flattened(group: Any, before: str = "") -> dict[str, Any]:
    """Every command by its name, those of groups with the name of the group."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= _flattened(command, f"{name} ") if hasattr(command, "commands") else {f"{before}{name}": command}
    return found


def _flat(options: dict[str, str | None]) -> list[str]:
    return [text for name, value in options.items() for text in ((name,) if value is None else (name, value))]


@cache
def files() -> dict[str, bytes]:
    """Inputs of all commands, by name."""
    import lostsales
    from lostsales.data.writing import write_log
    from lostsales.simulation.presets import preset_text

    folder = new_folder()
    log, _ = lostsales.simulate("newsvendor", episodes=6, seed=1)
    write_log(log, folder / "log.csv")
    lostsales.fit(log, "newsvendor").save(folder / "policy")
    (folder / "shop.toml").write_text(preset_text("newsvendor"))
    (folder / "today.csv").write_text("series,period,stock\n0,99,3\n")
    (folder / "damaged.csv").write_bytes((folder / "log.csv").read_bytes()[:700] + b'"\x00\xff')
    (folder / "bomb.toml").write_text("a" + ".a" * 100_000 + " = 1")
    write_log(log, folder / "sales.parquet")
    (folder / "sales.toml").unlink()
    for command in (
        "pilot log.csv --policy policy --out pilot.json",
        "fleet fit sales.parquet --problem log.toml --method newsvendor --workers 1 --out store",
    ):
        code, _, error = called(command.split(), folder)
        assert code == 0, error
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def called(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Exit code and both outputs of a command in a folder; what is not an exit is raised."""
    from lostsales.apps.cli import main as lostsales_main

    shown, error, code = io.StringIO(), io.StringIO(), 0
    given, sys.argv = sys.argv, ["lostsales", *arguments]
    try:
        with chdir(folder), redirect_stdout(shown), redirect_stderr(error):
            lostsales_main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = given
    return code, shown.getvalue(), error.getvalue()


if __name__ == "__main__":
    main(option_case, "tests.fuzz.options")
