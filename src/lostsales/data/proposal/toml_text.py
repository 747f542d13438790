"""TOML with comments, as a person would write it."""

from textwrap import wrap
from typing import Any

from lostsales.data.settings import to_toml

WIDTH = 110  # characters of a line
_MOST_CODE = 60  # a longer line has its comment above it


class TomlText:
    """Lines of TOML, each with the reason for it, and what is left for a person to do."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left: list[str] = []
        self.keys: set[str] = set()  # active ones of the table at hand

    def comment(self, text: str) -> None:
        """A paragraph."""
        self.lines += wrap(text, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)

    def todo(self, text: str) -> None:
        """Note something left to do; it does not become a line."""
        self.left.append(text)

    def gap(self) -> None:
        """An empty line."""
        self.lines.append("")

    def table(self, name: str, why: str) -> None:
        """The head of a table."""
        self.keys = set()
        self.lines += ["", f"[{name}]".ljust(24) + f"# {why}"]

    def key(self, name: str, value: Any, why: str, *, active: bool = True) -> None:
        """One key; one that is not active is a comment itself."""
        why = " ".join(why.split())
        if active:
            self.keys.add(name)
        code = ("" if active else "# ") + to_toml({name: value}).strip()
        if len(code) <= _MOST_CODE and len(code) + len(why) < WIDTH:
            self.lines.append(f"{code.ljust(24)}  # {why}")
        else:
            self.comment(why)
            self.lines.append(code)

    def array(self, name: str, items: list[tuple[Any, str]]) -> None:
        """A list with one item a line."""
        values = [to_toml({"v": [value]}).strip()[len("v = [") : -1] + "," for value, _ in items]
        width = min(max(map(len, values)), _MOST_CODE)
        lines = [
            f"  {value.ljust(width)}  # {' '.join(why.split())}" for value, (_, why) in zip(values, items, strict=True)
        ]
        self.lines += [f"{name} = [", *lines, "]"]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"
