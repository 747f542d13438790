"""A sample of the evidence of a large log: contiguous blocks of periods drawn at random over all series."""

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.types import Bools, Ints

BLOCK_ROWS = 250  # a shorter series is one block


def sample_blocks(evidence: Evidence, most: int, seed: int) -> Evidence:
    """The evidence itself, or about `most` of its rows in blocks: a row may need those before it back to its anchor."""
    return evidence if len(evidence) <= most else evidence.part(drawn_blocks(evidence, most, seed))


def drawn_blocks(evidence: Evidence, most: int, seed: int) -> Bools:
    """Rows of blocks drawn until there are `most`; rows whose anchor lies before their block are left out, (rows,)."""
    rows = np.arange(len(evidence))
    begins = np.flatnonzero((rows - segment_starts(evidence)) % BLOCK_ROWS == 0)
    sizes = np.diff(np.r_[begins, len(evidence)])
    drawn = np.random.default_rng(seed).permutation(len(begins))
    enough = int(np.searchsorted(np.cumsum(sizes[drawn]), most)) + 1
    is_drawn = np.zeros(len(begins), dtype=bool)
    is_drawn[drawn[:enough]] = True
    return np.repeat(is_drawn, sizes) & (rows - evidence.depth >= np.repeat(begins, sizes))


def segment_starts(evidence: Evidence) -> Ints:
    """The first of the consecutive periods of one series that each row belongs to, (rows,)."""
    rows = np.arange(len(evidence))
    follows = np.r_[False, (np.diff(evidence.series) == 0) & (np.diff(evidence.rows) == 1)][: len(evidence)]
    return np.asarray(np.maximum.accumulate(np.where(follows, 0, rows)))
