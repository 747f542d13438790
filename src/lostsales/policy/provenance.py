"""Provenance of a policy: the method, settings and log that it was learned from, and the verdict of its evaluation."""

from hashlib import sha256
from typing import Any, Literal, TypeVar

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.settings import StrictSettings

P = TypeVar("P")


class MetTarget(StrictSettings):
    """A target of service, and the cost of a lost sale under which the policy reaches it."""

    of: str  # the products that share it
    measure: Literal["fill_rate", "service"]
    target: float
    reached: float  # in the demand that is estimated from the log
    lost_cost: float
    holding_cost: float = 0.0  # of a unit and period, on top of its own, where 0 for a lost sale serves too much

    @property
    def sentence(self) -> str:
        """The target and its cost in words.

        >>> MetTarget(of="all products", measure="fill_rate", target=0.97, reached=0.969, lost_cost=3.1).sentence
        'a fill rate of 97 % is what you would choose if a lost sale cost you 3.10'
        """
        what = "a fill rate" if self.measure == "fill_rate" else "a share of periods without a stock-out"
        of = "" if self.of == "all products" else f" for {self.of}"
        told = f"{what} of {100 * self.target:.4g} %{of} is what you would choose if"
        if self.holding_cost:
            return f"{told} holding a unit for a period cost you {self.holding_cost:.2g} more: more service earns more"
        return f"{told} a lost sale cost you {self.lost_cost:.2f}"


class LearnedBy(StrictSettings):
    """Method, settings and log, so that the method can be fitted again without some rows of that log."""

    method: str
    settings: dict[str, Any]  # all of them, as JSON can hold them
    log: str  # `log_digest` of the log
    targets: tuple[MetTarget, ...] = ()


class PolicyVerdict(StrictSettings):
    """Verdict of an evaluation on a policy, which its file carries to those who use it."""

    advice: Literal["deploy", "pilot", "keep"]
    reason: str  # the gain with its interval, or why there is none
    held_out: bool  # estimated on rows that the method was not fitted to

    @property
    def sentence(self) -> str:
        """Advice with its reasons, for people.

        >>> PolicyVerdict(advice="pilot", reason="the gain is not proven", held_out=False).sentence
        'Run a pilot first: the gain is not proven. It may be in-sample: `lostsales compare` holds rows out.'
        """
        basis = ", held out." if self.held_out else ". It may be in-sample: `lostsales compare` holds rows out."
        return f"{ADVISED[self.advice]}: {self.reason}{basis}"


ADVISED = {"deploy": "Deploy", "pilot": "Run a pilot first", "keep": "Keep the current practice"}
NOT_EVALUATED = "not evaluated"
EVALUATE_FIRST = (
    "Not yet evaluated: `lostsales compare LOG` or `lostsales evaluate POLICY LOG` estimates whether it earns more."
)


def verdict_of(policy: object) -> PolicyVerdict | None:
    """Verdict on a policy, None where it has not been evaluated."""
    found: PolicyVerdict | None = getattr(policy, "verdict", None)
    return found


def with_verdict(policy: P, found: PolicyVerdict | None) -> P:
    """The same policy with a verdict, which no decision depends on."""
    if found is not None:
        object.__setattr__(policy, "verdict", found)
    return policy


def verdict_sentence(policy: object) -> str:
    """The verdict on a policy in words, or how to get one."""
    found = verdict_of(policy)
    return EVALUATE_FIRST if found is None else found.sentence


def learned_by(policy: object) -> LearnedBy | None:
    """Provenance of a policy, None where it was not learned by `fit` or its file does not say."""
    found: LearnedBy | None = getattr(policy, "learned_by", None)
    return found


def with_provenance(policy: P, found: LearnedBy | None) -> P:
    """The same policy with its provenance, which no decision depends on and which is therefore no field of it."""
    if found is not None:
        object.__setattr__(policy, "learned_by", found)
    return policy


def met_targets(policy: object) -> tuple[MetTarget, ...]:
    """Targets that a policy was learned to meet, with what they cost; none without targets."""
    found: tuple[MetTarget, ...] = getattr(policy, "met_targets", ())
    learned = learned_by(policy)
    return found if learned is None else learned.targets


def with_met_targets(policy: P, found: tuple[MetTarget, ...]) -> P:
    """The same policy with the targets that it meets."""
    object.__setattr__(policy, "met_targets", found)
    return policy


def log_digest(log: SalesLog) -> str:
    """SHA-256 of the rows of a log: where series start, prices, stock, orders and sales."""
    digest = sha256(f"{len(log)} ".encode())
    for column in (log.starts, log.price, log.stock, log.order, log.sales):
        if column is not None:
            digest.update(np.ascontiguousarray(column).view(np.uint8).data)
    return digest.hexdigest()
