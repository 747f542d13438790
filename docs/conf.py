"""Settings of the documentation site: `make docs` builds it into build/docs."""

from importlib.metadata import version as installed_version
from pathlib import Path

from pydantic import BaseModel
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from lostsales.data.setting_fields import setting_fields

project = "lostsales"
version = release = installed_version(project)
language = "en"
root_doc = "index"
smartquotes = False  # a command is copied as it stands: --option, not a dash
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",  # MathJax as files of the site
    "sphinx_copybutton",
]

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 4

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Indented formulas are text, not Python.
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"

templates_path = ["_templates"]
autosummary_generate = True  # a page for each public name
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_use_unqualified_type_names = True
napoleon_google_docstring = False

html_theme = "pydata_sphinx_theme"
html_title = f"lostsales {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "lostsales"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["sphinx-version"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Files beside docs/ that are pages of the site too.
PAGES_ABOVE = {"../CHANGELOG.md": "changelog.md", "../CONTRIBUTING.md": "contributing.md"}


def point_to_pages(_app: Sphinx, name: str, source: list[str]) -> None:
    """Links to files above docs/ lead to their pages, and their links to docs/ lead back."""
    up = "../" * name.count("/")
    for path, page in PAGES_ABOVE.items():
        source[0] = source[0].replace(f"]({up}{path}", f"]({up}{page}")


def describe_fields(_app: Sphinx, kind: str, _name: str, item: object, _options: object, lines: list[str]) -> None:
    """Fields of a settings class, which pydantic keeps apart from its docstring."""
    documented = any(line.startswith(":param") for line in lines)
    if kind == "class" and isinstance(item, type) and issubclass(item, BaseModel) and not documented:
        for field in setting_fields(item):
            default = f" Default: ``{field.default}``." if field.default else ""
            lines.append(f":param {field.name}: {field.description.rstrip('.')}.{default}")
        lines.append("")


def short_signature(
    _app: Sphinx, kind: str, _name: str, item: object, _options: object, _signature: str | None, _returns: str | None
) -> tuple[str, None] | None:
    """Settings are keyword arguments, listed below the class."""
    if kind == "class" and isinstance(item, type) and issubclass(item, BaseModel):
        return "(**settings)", None
    return None


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", point_to_pages)
    app.connect("autodoc-process-docstring", describe_fields)
    app.connect("autodoc-process-signature", short_signature)
