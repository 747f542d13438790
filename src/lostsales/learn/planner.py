"""The planner: learn the law of demand from censored rows, then plan on it with the known profit and balance."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.holdout import hold_out, resample_counts
from lostsales.demand.law import DemandLaw, complete, fit_family
from lostsales.demand.model import DemandModel, fit_demand
from lostsales.errors import SettingError
from lostsales.learn import bellman
from lostsales.learn.fit import room_of, usable_runs
from lostsales.learn.plan import Grids, Physics, Plan, latent_table, solve
from lostsales.learn.states import MarketStates, market_states, place
from lostsales.policy.actions import ActionGrid
from lostsales.policy.artefact import Artefact
from lostsales.policy.recommend import Decision, Deployable
from lostsales.policy.rollout import Action, View
from lostsales.policy.rules import Rules

THREADS = 2
