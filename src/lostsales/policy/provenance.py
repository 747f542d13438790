"""Provenance of a policy: the method and settings that learned it, and the log that they learned from."""

from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.settings import StrictSettings

P = TypeVar("P")


class LearnedBy(StrictSettings):
    """Method, settings and log, so that the method can be fitted again without some rows of that log."""

    method: str
    settings: dict[str, Any]  # all of them, as JSON can hold them
    log: str  # `log_digest` of the log


def learned_by(policy: object) -> LearnedBy | None:
    """Provenance of a policy, None where it was not learned by `fit` or its file does not say."""
    found: LearnedBy | None = getattr(policy, "learned_by", None)
    return found


def with_provenance(policy: P, found: LearnedBy | None) -> P:
    """The same policy with its provenance, which no decision depends on and which is therefore no field of it."""
    if found is not None:
        object.__setattr__(policy, "learned_by", found)
    return policy


def log_digest(log: SalesLog) -> str:
    """SHA-256 of the rows of a log: where series start, prices, stock, orders and sales."""
    digest = sha256(f"{len(log)} ".encode())
    for column in (log.starts, log.price, log.stock, log.order, log.sales):
        if column is not None:
            digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return digest.hexdigest()
