"""Registers our environments with Gymnasium as soon as Gymnasium itself is imported, which is slow to import.

`import lostsales; gymnasium.make("lostsales/Released-v0")` works in any order of the two imports. Gymnasium offers no
other way since 1.0, which no longer loads environments from the entry points of installed packages.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

GYMNASIUM = "gymnasium"


def register_environments() -> None:
    """Register now where Gymnasium is imported, else when it is."""
    if GYMNASIUM in sys.modules:
        _register()
    elif not any(isinstance(finder, _GymnasiumFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumFinder())


class _GymnasiumFinder(MetaPathFinder):
    """Finds Gymnasium as Python does, with a loader that registers our environments after it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != GYMNASIUM:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _register()


def _register() -> None:
    from lostsales.simulation.presets import register_environments

    register_environments()
