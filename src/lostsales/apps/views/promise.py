"""A study of estimated gains as a person reads it."""

from lostsales.apps.views.console import print_facts
from lostsales.lab.studies.gain import PromiseTable

NAIVE = "without allowance for confounding"


def print_promise(title: str, found: PromiseTable) -> None:
    """True and estimated gains, how often the lower bound was too high, and the power."""
    settings = ", ".join(f"{name} {share:.0%}" for name, share in found.price_settings.items())
    print_facts(
        title,
        [
            ("logs", f"{found.logs:,}"),
            ("mean true gain", f"{found.true_gain:.2f} per period; estimated {found.promised:.2f}"),
            (
                "lower bound above true gain",
                f"{found.low_above_truth:.0%} of logs ({found.naive_above_truth:.0%} {NAIVE})",
            ),
            ("deployed", f"{found.deployed:.0%} of logs; at a true loss {found.deployed_at_a_loss:.0%}"),
            (
                "power",
                f"{found.found:.0%} of the true gains that are proven {NAIVE} ({found.found_naively:.0%} of logs)",
            ),
            ("prices were set", settings),
        ],
    )
