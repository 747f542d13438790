"""Pages that need no other file, from the templates of this package."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lostsales.data.output_files import replacing


def write_page(template: str, filters: dict[str, Callable[..., str]], path: Path, /, **content: Any) -> None:
    """Write a page; the file is replaced only when the page is complete."""
    from jinja2 import Environment, PackageLoader

    pages = Environment(
        loader=PackageLoader("lostsales.apps.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters |= filters
    text = pages.get_template(template).render(**content)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
