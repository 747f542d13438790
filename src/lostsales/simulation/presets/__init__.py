"""The scenarios that ship with the package, and their Gymnasium ids."""

from importlib import resources


def preset_names() -> tuple[str, ...]:
    """The names of the scenarios that ship with the package."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


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
    """Make every preset known to Gymnasium; the environment itself is imported when one is made."""
    import gymnasium

    for preset in preset_names():
        gymnasium.register(
            environment_id(preset),
            entry_point="lostsales.simulation.environment:RetailerEnv",
            kwargs={"scenario": preset},
        )
