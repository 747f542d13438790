"""`lostsales experiment`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import MOST, MOST_SEED, MOST_WORKERS, Json, names, whole_numbers

QUICK_LEVELS, QUICK_RUNS, QUICK_EPISODES = (5, 20), 4, 100


def experiment(
    scenario: Annotated[str, typer.Argument(help="A preset by name (released, paper, steady), or a TOML file.")],
    out: Annotated[Path, typer.Option(help="Folder of the experiment; an interrupted one is resumed.")],
    levels: Annotated[
        str | None,
        typer.Option(
            help="Episodes to learn from, such as 5,10,20. Unless given: 5,10,...,50 for the paper's methods, 5,10,50 "
            "for others."
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, max=MOST, help="Independent runs; 50 unless given.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Such as c-fqi,planner; the paper's, the planner and baselines unless given.")
    ] = None,
    behaviours: Annotated[
        str | None,
        typer.Option(
            help="Behaviour policies of the logs: uniform; near-optimal (pi*, a tenth of its decisions uniform); "
            "pi-star; softmax (over the Q of an oracle that observes demand); ppo (--ppo, sampled). "
            "uniform,near-optimal unless given."
        ),
    ] = None,
    ppo: Annotated[
        Path | None, typer.Option(help="The policy of --behaviours ppo, as `solve --target ppo` writes it.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_WORKERS, help="Processes, 2 unless given; results do not depend on it."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="2 levels, 4 runs and 100 test episodes, for a first look.")
    ] = False,
    test_episodes: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Test episodes per policy; 200 unless given.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, max=MOST, help="Iterations (K) of the methods that iterate.")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same table.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn from simulated logs of many sizes by many methods, test every policy, and check the paper's claims.

    If interrupted, the same command resumes; more runs, levels, methods or behaviours add to what is there.

    Example: `lostsales experiment released --quick --out first-look`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.experiment import print_outcome, to_json, write_outcome
    from lostsales.lab.experiments.design import BEHAVIOURS, LEVELS, TEST_EPISODES, Experiment, default_methods
    from lostsales.lab.experiments.ppo_behaviour import ppo_checksum
    from lostsales.lab.experiments.results import ExperimentResults
    from lostsales.lab.experiments.run import WORKERS, run_experiment
    from lostsales.simulation.scenario import Scenario

    asked = Experiment(
        scenario=Scenario.load(scenario),
        levels=whole_numbers("levels", levels, "5,10,20") if levels is not None else QUICK_LEVELS if quick else LEVELS,
        runs=runs if runs is not None else QUICK_RUNS if quick else 50,
        methods=names(methods) if methods else default_methods(),
        behaviours=names(behaviours) if behaviours else BEHAVIOURS,
        iterations=iterations,
        test_episodes=test_episodes if test_episodes is not None else QUICK_EPISODES if quick else TEST_EPISODES,
        ppo=None if ppo is None else ppo_checksum(ppo),
        seed=seed,
    )
    # A run begins with small logs and ends with large ones, so the speed of one moment says little.
    with progress("learning and testing", window=600) as report:
        finished = run_experiment(asked, out, WORKERS if workers is None else workers, report, ppo)
    results = ExperimentResults(asked, finished)
    written = write_outcome(results, out)
    if as_json:
        print_json(to_json(results, out))
    else:
        print_outcome(results, out, written)
