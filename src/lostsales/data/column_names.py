"""Match of column names with roles; `column_names.toml` has the names."""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Vocabulary:
    """The names of one role, the likeliest first, and words that speak against it."""

    names: tuple[str, ...]
    never: frozenset[str]


def words(name: str) -> list[str]:
    """A name in lower-case words, without accents.

    >>> words("UnitPrice (EUR)"), words("Qté_vendue"), words("SKU-ID")
    (['unit', 'price', 'eur'], ['qte', 'vendue'], ['sku', 'id'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.sub(r"[^A-Za-z0-9]+", " ", spaced).lower().split()


def fit(name: str, role: str) -> float:
    """Score the match of a name with a role: 1 or a little less for the whole name, less for a part of it, 0 for none.

    >>> fit("Units Sold", "sales") > fit("Lineitem quantity", "sales") > fit("colour", "sales")
    True
    """
    vocabulary, parts = _vocabularies()[role], words(name)
    names, whole = vocabulary.names, "".join(parts)
    if whole in names:
        return 1.0 - 0.1 * names.index(whole) / len(names)
    if vocabulary.never & {*parts}:
        return 0.0
    windows = ("".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
    found = [each for each in windows if len(each) >= 3 and each in names]
    if not found:
        return 0.3 if any(len(each) >= 5 and whole.endswith(each) for each in names) else 0.0
    return max(0.3 + 0.5 * len(each) / len(whole) - 0.1 * names.index(each) / len(names) for each in found)


@cache
def _vocabularies() -> dict[str, Vocabulary]:
    keys = tomllib.loads(Path(__file__).with_name("column_names.toml").read_text(encoding="utf-8"))
    return {
        role: Vocabulary(tuple("".join(words(name)) for name in each["names"]), frozenset(each.get("never", ())))
        for role, each in keys.items()
    }
