"""Extensions by name: learners, policy files, demand means, imputers and off-policy estimators.

Each kind has one `Registry` in the package that defines it. A registry is filled by the entry points of installed
packages, ours among them, so that an extension in another package works everywhere ours do:

    [project.entry-points."lostsales.learners"]
    my-learner = "my_package.learner:MyLearner"

A name is imported when it is asked for and not before.
"""

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from lostsales.errors import SettingError

Item = TypeVar("Item")
OURS = "lostsales"


class Registry(Generic[Item]):
    """Names and what they stand for; `what` is how messages call one of them, `first` the names that lead the list."""

    def __init__(self, group: str, what: str, first: tuple[str, ...] = ()) -> None:
        self.group, self.what, self.first = group, what, first
        self._registered: dict[str, Item] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        # Ours come first, and no other package can take their names.
        for point in sorted(entry_points(group=self.group), key=lambda point: _package(point) != OURS):
            found.setdefault(point.name, point)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        known = dict.fromkeys((*self._installed, *self._registered))
        return (*(name for name in self.first if name in known), *(name for name in known if name not in self.first))

    def __contains__(self, name: str) -> bool:
        return name in self._installed or name in self._registered

    def register(self, name: str, item: Item) -> None:
        """Add an item for this process only, as in a notebook; a package declares an entry point instead."""
        if name in self._installed:
            raise SettingError(f"{self.what} {name!r} is taken by the package {_package(self._installed[name])}")
        self._registered[name] = item

    def check(self, *names: str) -> None:
        """Raise `SettingError` where a name is unknown."""
        if unknown := [name for name in names if name not in self]:
            raise SettingError(f"no {self.what} {unknown[0]!r}; there are {', '.join(self.names)}")

    def get(self, name: str) -> Item:
        """The item of a name, imported now if it was not before."""
        self.check(name)
        if name not in self._registered:
            point = self._installed[name]
            try:
                self._registered[name] = cast(Item, point.load())
            except (ImportError, AttributeError) as error:
                raise SettingError(
                    f"{self.what} {name!r} of the package {_package(point)} cannot be loaded: {error}"
                ) from None
        return self._registered[name]

    def name_of(self, item: Item) -> str:
        """The name of an item, without importing those of other names."""
        place = f"{getattr(item, '__module__', '')}:{getattr(item, '__qualname__', '')}"
        names = [name for name, each in self._registered.items() if each is item]
        names += [name for name, point in self._installed.items() if point.value == place]
        if not names:
            raise SettingError(f"no {self.what} is registered for {place}: declare it in the entry points {self.group}")
        return names[0]


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "?"
