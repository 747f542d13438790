"""The folder of an experiment: its manifest, and the check that it belongs to one experiment."""

import json
import platform
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from lostsales.data.journal import Run
from lostsales.data.json_files import read_json, write_json
from lostsales.data.output_files import check_utf8
from lostsales.data.settings import checked
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.experiments.design import CellResult, Experiment

MANIFEST = "manifest.json"
JOURNAL = "cells.jsonl"
CELLS = Run("an experiment", CellResult, None)  # the manifest has all else
# Code that no result of a cell depends on: it is not part of the code checksum.
READS_RESULTS = (
    "apps/",
    "lab/experiments/against_published.py",
    "lab/experiments/claims.py",
    "lab/experiments/experiment.py",
    "lab/experiments/published.py",
    "lab/experiments/results.py",
    "lab/experiments/tables.py",
)
EXTENT = {
    "runs",
    "levels",
    "methods",
    "behaviours",
}  # settings that determine which cells there are, but not their results
PACKAGES = ("lostsales", "numpy", "scipy", "numba", "duckdb")


def prepare_folder(folder: Path, experiment: Experiment) -> None:
    """Create the folder with its manifest, or check that it holds this experiment."""
    check_utf8(folder)
    path = folder / MANIFEST
    if path.is_file():
        if differences := sorted(_differences(read_json(path), manifest(experiment))):
            raise SettingError(
                f"{folder} holds another experiment: {'; '.join(differences)}. Choose another folder with --out, "
                "or give the settings it was begun with"
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingError(f"{folder} is not empty and holds no experiment; choose a new folder with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LostSalesError(f"{folder} cannot be made: {error.strerror}") from None
    write_manifest(folder, experiment)


def write_manifest(folder: Path, experiment: Experiment) -> None:
    """Write the settings; an experiment may grow by runs, levels, methods and behaviours."""
    path = folder / MANIFEST
    if experiment.ppo is None and path.is_file():  # its cells of that behaviour stay
        experiment = experiment.model_copy(update={"ppo": read_json(path)["experiment"].get("ppo")})
    write_json(manifest(experiment), path)


def manifest(experiment: Experiment) -> dict[str, Any]:
    """All that results depend on: settings, versions, checksums of the scenario and of the code."""
    settings = experiment.as_json()
    return {
        "experiment": settings,
        "episodes_a_run": experiment.episodes,
        "scenario_checksum": sha256(json.dumps(settings["scenario"], sort_keys=True).encode()).hexdigest(),
        "code_checksum": code_checksum(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }


@lru_cache
def code_checksum() -> str:
    """SHA-256 over the code that cells run, so that a table does not mix two versions of a method."""
    home = Path(__file__).parents[2]
    names = sorted(path.relative_to(home).as_posix() for path in home.rglob("*.py"))
    digests = [
        f"{name} {sha256((home / name).read_bytes()).hexdigest()}"
        for name in names
        if not name.startswith(READS_RESULTS)
    ]
    return sha256("\n".join(digests).encode()).hexdigest()


def read_manifest(folder: Path) -> Experiment:
    """The experiment of a folder."""
    return checked(Experiment, read_json(folder / MANIFEST)["experiment"], f"the experiment of {folder}")


def reference_path(folder: Path, name: str) -> Path:
    """Path of a solved reference."""
    return folder / f"{name}.policy"


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    """The keys on which two manifests differ, as paths with both values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted({*found, *wanted} - EXTENT - {"scenario_checksum"})
        inner = (_differences(found.get(key), wanted.get(key), f"{name}.{key}" if name else key) for key in keys)
        return list(chain.from_iterable(inner))
    if found == wanted or (name == "experiment.ppo" and None in (found, wanted)):  # without that behaviour so far
        return []
    if name == "code_checksum":
        return ["the code of lostsales has changed since"]
    return [f"{name.removeprefix('experiment.')} was {_brief(found)}, now {_brief(wanted)}"]


def _brief(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else f"{text[:57]}..."
