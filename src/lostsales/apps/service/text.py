"""Texts as people search and sort them: without accents and upper case, and in the order of their language."""

import re
import unicodedata

DIGITS = re.compile(r"[0-9]+")
# Letters that languages sort after another one, which comes first in its group; elsewhere accents do not matter.
ALPHABETS = {
    **dict.fromkeys(("sv", "fi"), "zåäö"),
    **dict.fromkeys(("da", "nb", "nn", "no"), "zæøå"),
    **dict.fromkeys(("cs", "sk", "hr", "sl"), "cčć dđ rř sš zž"),
    "es": "nñ",
    "et": "sš zžõäöü",
    "hu": "oö uü",
    "pl": "aą cć eę lł nń oó sś zźż",
    "tr": "cç gğ oö sş uü",
}
# Letters that no accent can be taken off.
PLAIN = str.maketrans(
    {"ł": "l", "đ": "d", "ø": "o", "æ": "ae", "œ": "oe", "\u0131": "i", "ð": "d", "þ": "th", "ħ": "h"}
)
LAST = 0x10FF00  # beyond every letter


def folded(text: str) -> str:
    """Text without upper case and accents.

    >>> folded("Smørrebrød Crème"), folded("Weißbrot")
    ('smorrebrod creme', 'weissbrot')
    """
    parts = unicodedata.normalize("NFKD", text.casefold().translate(PLAIN))
    return "".join(each for each in parts if not unicodedata.combining(each))


def sort_key(text: str, language: str = "") -> str:
    """Sort key of a name: 9 before 10, accents as the language has them.

    >>> sorted(["Öl", "Zucker", "Apfel 10", "Äpfel 9"], key=sort_key)
    ['Äpfel 9', 'Apfel 10', 'Öl', 'Zucker']
    >>> sorted(["Öl", "Zucker", "Apfel"], key=lambda name: sort_key(name, "sv"))
    ['Apfel', 'Zucker', 'Öl']
    """
    groups = ALPHABETS.get(language, "").split()
    own = {letter: f"{group[0]}{chr(LAST + at)}" for group in groups for at, letter in enumerate(group) if at}
    letters = "".join(own.get(each) or folded(each) for each in unicodedata.normalize("NFC", text.casefold()))
    return f"{DIGITS.sub(lambda found: found[0].zfill(12), letters)}\0{text}"
