"""The folder of an experiment: what it holds, and why another experiment may not use it."""

import json
import platform
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lostsales.data.settings import checked
from lostsales.data.writing import replacing
from lostsales.errors import LostSalesError, SettingError
from lostsales.simulation.experiments.plan import Experiment

MANIFEST = "manifest.json"
JOURNAL = "cells.jsonl"
AFTERWARDS = {"apps", "results.py", "claims.py", "outputs.py", "published.py"}  # code that only reads what cells found
EXTENT = {"runs", "levels", "methods"}  # which cells there are, but not what comes out of them
PACKAGES = ("lostsales", "numpy", "scipy", "numba", "duckdb")


def claim_folder(folder: Path, experiment: Experiment) -> None:
    """Make a new folder this experiment's, and refuse one that is anybody else's."""
    path = folder / MANIFEST
    if path.is_file():
        if differences := sorted(_differences(_read(path), manifest(experiment))):
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
    """Say what the folder holds; an experiment may grow by runs, levels and methods."""
    write_json(manifest(experiment), folder / MANIFEST)


def manifest(experiment: Experiment) -> dict[str, Any]:
    """All that results depend on: settings, versions, and checksums of the scenario and of our own code."""
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
    """SHA-256 over the code that cells run: a table must not mix the results of two versions of a method."""
    home = Path(__file__).parents[2]
    files = sorted(path for path in home.rglob("*.py") if not {*path.relative_to(home).parts} & AFTERWARDS)
    digests = [f"{path.relative_to(home).as_posix()} {sha256(path.read_bytes()).hexdigest()}" for path in files]
    return sha256("\n".join(digests).encode()).hexdigest()


def read_manifest(folder: Path) -> Experiment:
    """The experiment of a folder."""
    return checked(Experiment, _read(folder / MANIFEST)["experiment"], f"the experiment of {folder}")


def reference_path(folder: Path, name: str) -> Path:
    """Where a solved reference is kept."""
    return folder / f"{name}.policy"


def write_json(content: dict[str, Any], path: Path) -> None:
    """Write a JSON file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    return found


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    """Every key on which two manifests differ, named by its path."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted({*found, *wanted} - EXTENT - {"scenario_checksum"})
        parts = [_differences(found.get(key), wanted.get(key), f"{name}.{key}" if name else key) for key in keys]
        return [difference for part in parts for difference in part]
    if found == wanted:
        return []
    if name == "code_checksum":
        return ["the code of lostsales has changed since"]
    return [f"{name.removeprefix('experiment.')} was {_brief(found)}, now {_brief(wanted)}"]


def _brief(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 60 else f"{text[:57]}..."
