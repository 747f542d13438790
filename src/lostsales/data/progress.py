"""Progress callbacks, and one bar for work of several stages."""

import sys
from collections.abc import Callable, Sequence

Progress = Callable[[int, int], None]  # (done, total)

CELLS = 30  # characters of a bar
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


def progress_bar(what: str = "") -> Progress:
    """A bar of one line for notebooks and terminals, as `progress` of `fit`, `evaluate` and others.

    Parameters
    ----------
    what : str
        Name of the work, in front of the bar.

    Returns
    -------
    callable
        Called with (done, total), it draws the bar anew.

    Examples
    --------
    >>> bar = progress_bar("fitting")  # lostsales.fit(log, progress=bar)

    """
    shown = [-1]

    def show(done: int, total: int) -> None:
        share = 100 * done // max(total, 1)
        if share != shown[0]:
            shown[0] = share
            full = CELLS * share // 100
            text = f"\r{what}  {'█' * full}{'░' * (CELLS - full)}  {share:>3} %"
            sys.stdout.write(text + ("\n" if share >= 100 else ""))
            sys.stdout.flush()

    return show
