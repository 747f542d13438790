"""The features of open rows."""

import numpy as np

from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.table import Table
from lostsales.types import Bools, Floats


def read_features(problem: Problem, rows: Table, reader: ColumnReader) -> tuple[Floats, Bools]:
    """The features, and rows with a level that the log never had, whose code is -1; NaN those of the calendar."""
    features, unseen = np.full((rows.rows, len(problem.features)), np.nan), np.zeros(rows.rows, dtype=bool)
    # An unknown level is a flag here, and no finding.
    lenient = ColumnReader(rows, Findings(rows.name), problem.format)
    for index, feature in enumerate(problem.features):
        if feature.calendar is not None:
            continue
        if feature.kind == "numeric":
            features[:, index] = reader.number(feature.name, negative=True, truths=True)
        else:
            present = reader.labels(feature.name)[0] >= 0
            features[:, index] = lenient.levels(feature)[1]
            unseen |= present & (features[:, index] < 0)
    return features, unseen
