"""One bar for work of several parts."""

from collections.abc import Sequence

from lostsales.data.reading.columns import Progress as Progress

WHOLE = 1_000  # every part counts in thousandths of all, so that the time left is told in one unit


def stages(progress: Progress | None, shares: Sequence[float]) -> list[Progress]:
    """A callback (done, total) for each part of the work, by about how long they take.

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
