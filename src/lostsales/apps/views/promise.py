"""A study of promises as a person reads it."""

from lostsales.apps.views.console import print_facts
from lostsales.simulation.promise_study import PromiseTable


def print_promise(title: str, found: PromiseTable) -> None:
    """True and promised gains, how often the lower bound was too high, and the power."""
    settings = ", ".join(f"{name} {share:.0%}" for name, share in found.price_settings.items())
    print_facts(
        title,
        [
            ("logs", f"{found.logs:,}"),
            ("true gain a period", f"{found.true_gain:.2f}, promised {found.promised:.2f} (means)"),
            (
                "lower bound too high",
                f"{found.low_above_truth:.0%} of logs ({found.naive_above_truth:.0%} without care)",
            ),
            ("deployed", f"{found.deployed:.0%} of logs, at a true loss in {found.deployed_at_a_loss:.0%}"),
            (
                "gains found",
                f"{found.found:.0%} of those that are found without care ({found.found_naively:.0%} of logs)",
            ),
            ("prices were set", settings),
        ],
    )
