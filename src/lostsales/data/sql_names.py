"""Names and texts as SQL writes them."""


def identifier(name: str) -> str:
    """The name of a column or table in quotes.

    >>> print(identifier('net "list" price'))
    "net ""list"" price"
    """
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """Text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
