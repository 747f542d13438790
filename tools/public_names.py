"""Snapshot of what other code may rely on: `python -m tools.public_names` writes it, a test compares it."""

import inspect
from pathlib import Path

from pydantic import BaseModel

import lostsales
from lostsales.apps.fleet.store import FORMAT as STORE_FORMAT
from lostsales.apps.fleet.store import Manifest
from lostsales.evaluation.pilot.plan import FORMAT as PILOT_FORMAT
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.policy.file_format import FORMAT as POLICY_FORMAT
from lostsales.policy.file_format import PolicyMetadata

SNAPSHOT = Path(__file__).parents[1] / "tests" / "public_names.txt"


def public_names() -> str:
    """Public names with their signatures and public attributes, and the formats and keys of files, a line each."""
    lines = [f"file format: policy {POLICY_FORMAT}, pilot {PILOT_FORMAT}, store {STORE_FORMAT}"]
    files: dict[str, type[BaseModel]] = {"policy": PolicyMetadata, "pilot": Pilot, "store": Manifest}
    lines += [f"keys of a {what} file: {', '.join(model.model_fields)}" for what, model in files.items()]
    for name in sorted(each for each in dir(lostsales) if each != "__version__"):
        item = getattr(lostsales, name)
        if inspect.isclass(item) and issubclass(item, Exception):
            lines.append(name)
            continue
        lines.append(name + signature_of(item))
        ours = [base for base in getattr(item, "__mro__", ()) if base.__module__.startswith("lostsales")]
        attributes = sorted({each for base in ours for each in vars(base)})
        public = [each for each in attributes if not each.startswith(("_", "model_"))]
        lines += [f"{name}.{each}{signature_of(getattr(item, each, None))}" for each in public]
    return "\n".join(lines) + "\n"


def signature_of(item: object) -> str:
    """Parameters with their defaults, without types; nothing where it is not called."""
    if not (inspect.isfunction(item) or inspect.ismethod(item) or inspect.isclass(item)):
        return ""
    found = inspect.signature(item)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    SNAPSHOT.write_text(public_names(), encoding="utf-8")
