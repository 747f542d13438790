"""Learn how to price and how much to order from a shop's own history, when stock-outs hid part of the demand."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lostsales.simulation.presets import register_environments

if TYPE_CHECKING:
    from lostsales.data.log import SalesLog
    from lostsales.data.problem import Problem
    from lostsales.data.reading.gate import read_log
    from lostsales.data.writing import write_log
    from lostsales.errors import LogError, LostSalesError, SettingError
    from lostsales.learn.fit import fit, learners, register_learner
    from lostsales.policy.file_format import load
    from lostsales.policy.rules import Rules
    from lostsales.simulation.scenario import Scenario
    from lostsales.simulation.simulator import HiddenTruth

# Looked up on first use, so that `import lostsales` and `lostsales --help` stay quick.
_HOMES = {
    "read_log": "data.reading.gate",
    "SalesLog": "data.log",
    "Problem": "data.problem",
    "write_log": "data.writing",
    "LostSalesError": "errors",
    "LogError": "errors",
    "SettingError": "errors",
    "fit": "learn.fit",
    "learners": "learn.fit",
    "register_learner": "learn.fit",
    "load": "policy.file_format",
    "Rules": "policy.rules",
    "Scenario": "simulation.scenario",
    "HiddenTruth": "simulation.simulator",
}

__all__ = [
    "HiddenTruth",
    "LogError",
    "LostSalesError",
    "Problem",
    "Rules",
    "SalesLog",
    "Scenario",
    "SettingError",
    "fit",
    "learners",
    "load",
    "read_log",
    "register_learner",
    "write_log",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lostsales' has no attribute {name!r}")
    return getattr(import_module(f"lostsales.{_HOMES[name]}"), name)


# Gymnasium finds environments only among those that an import has registered.
register_environments()
