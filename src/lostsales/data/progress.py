"""Progress callbacks, and one bar for work of several stages."""

from collections.abc import Callable, Sequence

Progress = Callable[[int, int], None]  # (done, total)

WHOLE = 1_000  # each stage counts in thousandths of the whole, so that the remaining time has one unit


def stages(progress: Progress | None, shares: Sequence[float]) -> list[Progress]:
    """A callback (done, total) for each stage of the work; `shares` are about how long each takes.

    >>> first, second = stages(lambda done, total: print(done, total), (1, 3))
    >>> first(2, 2), second(1, 2)
    250 1000
    625 1000
    (None, None)
    """

    def stage(begins: float, own: float) -> Progress:
        def report(done: int, total: int) -> None:
            if progress:
                progress(round(WHOLE * (begins + own * done / total) / sum(shares)), WHOLE)

        return report

    return [stage(sum(shares[:at]), own) for at, own in enumerate(shares)]
