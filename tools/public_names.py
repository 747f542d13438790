"""Snapshot of what other code may rely on: `python -m tools.public_names` writes it, a test compares it."""

import inspect
from pathlib import Path

import lostsales
from lostsales.apps.fleet.store import FORMAT as STORE_FORMAT
from lostsales.evaluation.pilot.plan import FORMAT as PILOT_FORMAT
from lostsales.policy.file_format import FORMAT as POLICY_FORMAT

SNAPSHOT = Path(__file__).parents[1] / "tests" / "public_names.txt"


def public_names() -> str:
    """Public names with their parameters and public attributes, and the formats of files, a line each."""
    lines = [f"file format: policy {POLICY_FORMAT}, pilot {PILOT_FORMAT}, store {STORE_FORMAT}"]
    for name in sorted(each for each in dir(lostsales) if each != "__version__"):
        item = getattr(lostsales, name)
        if inspect.isclass(item) and issubclass(item, Exception):
            lines.append(name)
            continue
        lines.append(f"{name}({', '.join(inspect.signature(item).parameters)})")
        ours = [base for base in getattr(item, "__mro__", ()) if base.__module__.startswith("lostsales")]
        attributes = sorted({each for base in ours for each in vars(base)})
        lines += [f"{name}.{each}" for each in attributes if not each.startswith(("_", "model_"))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(public_names(), encoding="utf-8")
