"""Learn prices and orders from a sales log in which stock-outs censored demand."""

import typing as _typing
from importlib import import_module as _import_module

from lostsales.simulation.gymnasium_hook import register_environments as _register_environments

if _typing.TYPE_CHECKING:
    __version__: str
    from lostsales.apps.fleet.fit import fit_fleet as fit_fleet
    from lostsales.apps.fleet.fleet import Fleet as Fleet
    from lostsales.apps.report.report import report as report
    from lostsales.data.describe import Description as Description
    from lostsales.data.log import SalesLog as SalesLog
    from lostsales.data.problem import Problem as Problem
    from lostsales.data.proposal.propose import Proposal as Proposal
    from lostsales.data.proposal.propose import propose as propose
    from lostsales.data.reading.gate import read_log as read_log
    from lostsales.data.writing import write_log as write_log
    from lostsales.demand.audit.audit import Audit as Audit
    from lostsales.demand.audit.audit import audit as audit
    from lostsales.demand.forecast import Forecast as Forecast
    from lostsales.demand.forecast import forecast as forecast
    from lostsales.demand.law.demand_model import DemandModel as DemandModel
    from lostsales.demand.law.selection import fit_demand as fit_demand
    from lostsales.demand.stockout_loss import StockoutLoss as StockoutLoss
    from lostsales.demand.stockout_loss import stockout_loss as stockout_loss
    from lostsales.demand.survival.imputation import Imputation as Imputation
    from lostsales.demand.survival.imputation import impute as impute
    from lostsales.errors import LogError as LogError
    from lostsales.errors import LostSalesError as LostSalesError
    from lostsales.errors import SettingError as SettingError
    from lostsales.evaluation.assortment import AssortmentGain as AssortmentGain
    from lostsales.evaluation.back_test import BackTest as BackTest
    from lostsales.evaluation.back_test import back_test as back_test
    from lostsales.evaluation.compare import Comparison as Comparison
    from lostsales.evaluation.compare import compare as compare
    from lostsales.evaluation.evaluate import evaluate as evaluate
    from lostsales.evaluation.pilot.design import pilot as pilot
    from lostsales.evaluation.pilot.monitor import monitor as monitor
    from lostsales.evaluation.pilot.monitoring import Monitoring as Monitoring
    from lostsales.evaluation.pilot.plan import Pilot as Pilot
    from lostsales.evaluation.replayed_value import with_replayed_value as with_replayed_value
    from lostsales.evaluation.report.contents import ReportContents as ReportContents
    from lostsales.evaluation.results import Evaluation as Evaluation
    from lostsales.lab.exact.solve import Solution as Solution
    from lostsales.lab.exact.solve import solve as solve
    from lostsales.lab.experiments.experiment import experiment as experiment
    from lostsales.lab.experiments.results import ExperimentResults as ExperimentResults
    from lostsales.lab.studies.coverage import CoverageStudy as CoverageStudy
    from lostsales.lab.studies.coverage import calibrate as calibrate
    from lostsales.learn.baselines.behaviour import Behaviour as Behaviour
    from lostsales.learn.baselines.last_observation import FQI as FQI
    from lostsales.learn.baselines.last_observation import FQIDropped as FQIDropped
    from lostsales.learn.baselines.last_observation import FQIImputed as FQIImputed
    from lostsales.learn.baselines.last_observation import FQIObserved as FQIObserved
    from lostsales.learn.baselines.last_observation import FQIPlugin as FQIPlugin
    from lostsales.learn.baselines.pipeline_rules import CappedBaseStock as CappedBaseStock
    from lostsales.learn.baselines.pipeline_rules import ConstantOrder as ConstantOrder
    from lostsales.learn.baselines.pipeline_rules import ProjectedLevel as ProjectedLevel
    from lostsales.learn.baselines.threshold_tuning import SSP as SSP
    from lostsales.learn.baselines.threshold_tuning import BaseStock as BaseStock
    from lostsales.learn.baselines.threshold_tuning import Newsvendor as Newsvendor
    from lostsales.learn.cfqi.settings import CFQI as CFQI
    from lostsales.learn.cfqi.settings import PCFQI as PCFQI
    from lostsales.learn.cfqi.settings import Fusion as Fusion
    from lostsales.learn.fit import fit as fit
    from lostsales.learn.learner import Learner as Learner
    from lostsales.learn.lookahead.lookahead import Lookahead as Lookahead
    from lostsales.learn.planner.planner import Planner as Planner
    from lostsales.learn.replay.replay_fqi import ReplayFQI as ReplayFQI
    from lostsales.policy.chosen_products import ChosenProducts as ChosenProducts
    from lostsales.policy.file_format import load as load
    from lostsales.policy.policy import Policy as Policy
    from lostsales.policy.policy import SavedPolicy as SavedPolicy
    from lostsales.policy.rules import Rules as Rules
    from lostsales.simulation.scenario import Scenario as Scenario
    from lostsales.simulation.simulator import HiddenTruth as HiddenTruth
    from lostsales.simulation.simulator import simulate as simulate

# Where the public names live, imported on first use, so that `import lostsales` and `lostsales --help` stay quick. The
# imports above say the same to editors and to the import contract; a test holds the two together.
_ROOMS = {
    "apps.fleet.fit": ("fit_fleet",),
    "apps.fleet.fleet": ("Fleet",),
    "apps.report.report": ("report",),
    "data.describe": ("Description",),
    "data.log": ("SalesLog",),
    "data.problem": ("Problem",),
    "data.proposal.propose": ("Proposal", "propose"),
    "data.reading.gate": ("read_log",),
    "data.writing": ("write_log",),
    "demand.audit.audit": ("Audit", "audit"),
    "demand.forecast": ("Forecast", "forecast"),
    "demand.law.demand_model": ("DemandModel",),
    "demand.law.selection": ("fit_demand",),
    "demand.stockout_loss": ("StockoutLoss", "stockout_loss"),
    "demand.survival.imputation": ("Imputation", "impute"),
    "errors": ("LogError", "LostSalesError", "SettingError"),
    "evaluation.assortment": ("AssortmentGain",),
    "evaluation.back_test": ("BackTest", "back_test"),
    "evaluation.compare": ("Comparison", "compare"),
    "evaluation.evaluate": ("evaluate",),
    "evaluation.pilot.design": ("pilot",),
    "evaluation.pilot.monitor": ("monitor",),
    "evaluation.pilot.monitoring": ("Monitoring",),
    "evaluation.pilot.plan": ("Pilot",),
    "evaluation.report.contents": ("ReportContents",),
    "evaluation.replayed_value": ("with_replayed_value",),
    "evaluation.results": ("Evaluation",),
    "learn.baselines.behaviour": ("Behaviour",),
    "learn.baselines.pipeline_rules": ("CappedBaseStock", "ConstantOrder", "ProjectedLevel"),
    "learn.baselines.last_observation": ("FQI", "FQIDropped", "FQIImputed", "FQIObserved", "FQIPlugin"),
    "learn.baselines.threshold_tuning": ("BaseStock", "Newsvendor", "SSP"),
    "learn.cfqi.settings": ("CFQI", "Fusion", "PCFQI"),
    "learn.fit": ("fit",),
    "learn.learner": ("Learner",),
    "learn.lookahead.lookahead": ("Lookahead",),
    "learn.planner.planner": ("Planner",),
    "learn.replay.replay_fqi": ("ReplayFQI",),
    "policy.chosen_products": ("ChosenProducts",),
    "policy.file_format": ("load",),
    "policy.policy": ("Policy", "SavedPolicy"),
    "policy.rules": ("Rules",),
    "lab.studies.coverage": ("CoverageStudy", "calibrate"),
    "lab.exact.solve": ("Solution", "solve"),
    "lab.experiments.results": ("ExperimentResults",),
    "lab.experiments.experiment": ("experiment",),
    "simulation.scenario": ("Scenario",),
    "simulation.simulator": ("HiddenTruth", "simulate"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _import_module("importlib.metadata").version("lostsales")
    if name not in _HOMES:
        raise AttributeError(f"module 'lostsales' has no attribute {name!r}")
    return getattr(_import_module(f"lostsales.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__


# Gymnasium finds environments only among those that an import has registered.
_register_environments()
