"""Periods a second of the simulator, against stepping our own Gymnasium environment one episode at a time."""

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
    world = Scenario.load("released")
    evaluated = EPISODES * world.horizon / best_seconds(lambda: evaluate_policy(world, episodes=EPISODES), repeats=5)
    kept = EPISODES * world.horizon / best_seconds(lambda: simulate(world, episodes=EPISODES))
    stepped = ENV_EPISODES * world.horizon / best_seconds(_step_one_by_one)
    began = time.process_time()
    evaluate_policy(world, episodes=EPISODES)
    on_one_core = EPISODES * world.horizon / (time.process_time() - began)
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
