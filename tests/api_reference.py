"""Writes the API reference to build/docs: `python -m tests.api_reference`; fails on a public name without docstring."""

import sys
from pathlib import Path

import pdoc

import lostsales

FOLDER = Path(__file__).parents[1] / "build" / "docs"


def main() -> None:
    """Resolve the lazy names, which pdoc does not do, and render them."""
    for name in dir(lostsales):
        setattr(lostsales, name, getattr(lostsales, name))
    if missing := [name for name in dir(lostsales) if name != "__version__" and not getattr(lostsales, name).__doc__]:
        sys.exit(f"no docstring: {', '.join(missing)}")
    pdoc.render.configure(docformat="numpy")
    pdoc.pdoc("lostsales", r"!lostsales\.", output_directory=FOLDER)


if __name__ == "__main__":
    main()
