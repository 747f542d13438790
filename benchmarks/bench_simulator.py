"""Periods a second of the simulator, against stepping the Gymnasium environment one episode at a time."""

import time

import gymnasium

import lostsales  # noqa: F401, registers the environments
from benchmarks.rows import Row, best_seconds
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

EPISODES = 131_072
ENV_EPISODES = 40
GOAL = 20e6  # periods a second on 2 cores


def run() -> list[Row]:
    scenario = Scenario.load("released")
    periods = EPISODES * scenario.horizon
    evaluated = periods / best_seconds(lambda: evaluate_policy(scenario, episodes=EPISODES), repeats=5)
    kept = periods / best_seconds(lambda: simulate(scenario, episodes=EPISODES))
    stepped = ENV_EPISODES * scenario.horizon / best_seconds(_step_one_by_one)
    began = time.process_time()
    evaluate_policy(scenario, episodes=EPISODES)
    on_one_core = periods / (time.process_time() - began)
    peer = f"{stepped / 1e6:.3f} M/s, Gymnasium"
    return [
        Row("uniform in released, evaluated", f"{evaluated / 1e6:.1f} M/s", peer, evaluated / stepped, at_least=100),
        Row("uniform in released, log kept", f"{kept / 1e6:.1f} M/s", peer, kept / stepped, at_least=100),
        Row(
            "uniform in released, absolute",
            f"{evaluated / 1e6:.1f} M/s ({on_one_core / 1e6:.1f} M a core and second of CPU time)",
            f"{GOAL / 1e6:.0f} M/s, the goal",
            evaluated / GOAL,
            at_least=1,
        ),
    ]


def _step_one_by_one() -> None:
    env = gymnasium.make("lostsales/Released-v0")
    for seed in range(ENV_EPISODES):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, _, over, _ = env.step(env.action_space.sample())
