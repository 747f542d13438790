"""`python -m benchmarks.shops`: what the simulated shops earn under uniform behaviour and under the exact oracle."""

from lostsales.lab.exact.solve import solve
from lostsales.simulation.presets import preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy

EPISODES = 2_000


def main() -> None:
    print("| shop | what it is | stock-outs (uniform) | profit a period (uniform) | profit a period (oracle) |")
    print("|---|---|---|---|---|")
    for name in preset_names(hidden_state=False):
        shop = Scenario.load(name)
        uniform = evaluate_policy(shop, episodes=EPISODES, seed=1)
        oracle = evaluate_policy(shop, solve(shop, "oracle").policy, episodes=EPISODES, seed=1)
        earned = " | ".join(f"{each.mean_profit:.2f} ({each.std_error:.2f})" for each in (uniform, oracle))
        print(f"| `{name}` | {shop.about} | {1 - uniform.uncensored_share:.0%} | {earned} |", flush=True)


if __name__ == "__main__":
    main()
