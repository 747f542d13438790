"""The scenarios that ship with the package, and their Gymnasium ids."""

from importlib import resources

# Demand depends on what no log shows: they are simulated, but neither solved nor environments.
HIDDEN_STATE = frozenset({"confounded", "cost-shocks", "drift", "regime", "two-lag"})

# Former names, still understood: `paper` read as the paper itself.
ALIASES = {"paper": "appendix"}


def preset_names(hidden_state: bool = True) -> tuple[str, ...]:
    """The names of the scenarios that ship with the package, those with a hidden state included unless not wanted."""
    files = resources.files(__name__).iterdir()
    names = sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))
    return tuple(name for name in names if hidden_state or name not in HIDDEN_STATE)


def preset_text(name: str) -> str:
    """The TOML of a preset."""
    return (resources.files(__name__) / f"{name}.toml").read_text("utf-8")


def environment_id(preset: str) -> str:
    """The Gymnasium id of a preset.

    >>> environment_id("reference-price")
    'lostsales/ReferencePrice-v0'
    """
    return "lostsales/" + "".join(part.capitalize() for part in preset.split("-")) + "-v0"


def register_environments() -> None:
    """Make presets without a hidden state known to Gymnasium; the environment is imported when one is made."""
    import gymnasium

    for preset in (*preset_names(hidden_state=False), *ALIASES):
        gymnasium.register(
            environment_id(preset),
            entry_point="lostsales.simulation.environment:RetailerEnv",
            kwargs={"scenario": preset},
        )
