"""Learn prices and orders from a sales log in which stock-outs censored demand."""

import logging as _logging
from importlib import import_module as _import_module

from lostsales.simulation.gymnasium_hook import register_environments as _register_environments

# What the package logs is shown where a program configures logging, and nowhere else.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

# The stub beside this file lists the public names, for editors and here. Each is imported on first use, so that
# `import lostsales` and `lostsales --help` stay quick.
with open(f"{__file__}i", encoding="utf-8") as _stub:  # the modules for paths and patterns would take longer to import
    _lines = [_line.split() for _line in _stub if _line.startswith("from ")]
_HOMES = {_name: _home for _, _home, _, _name, *_ in _lines}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _import_module("importlib.metadata").version("lostsales")
    if name not in _HOMES:
        raise AttributeError(f"module 'lostsales' has no attribute {name!r}")
    return getattr(_import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__


# Gymnasium finds environments only among those that an import has registered.
_register_environments()
