"""`experiment`: run the paper's experiment and write its tables."""

from pathlib import Path

from lostsales.data.progress import Progress
from lostsales.lab.experiments.claims import check_claims
from lostsales.lab.experiments.design import BEHAVIOURS, LEVELS, TEST_EPISODES, Experiment, default_methods
from lostsales.lab.experiments.ppo_behaviour import ppo_checksum
from lostsales.lab.experiments.results import ExperimentResults, summarise_results
from lostsales.lab.experiments.run import WORKERS, run_experiment
from lostsales.lab.experiments.tables import write_tables
from lostsales.simulation.scenario import Scenario, as_scenario


def experiment(
    scenario: Scenario | str | Path,
    out: str | Path,
    *,
    levels: tuple[int, ...] = LEVELS,
    runs: int = 50,
    methods: tuple[str, ...] | None = None,
    behaviours: tuple[str, ...] = BEHAVIOURS,
    ppo: str | Path | None = None,
    iterations: int = 10,
    test_episodes: int = TEST_EPISODES,
    workers: int = WORKERS,
    seed: int = 0,
    progress: Progress | None = None,
) -> ExperimentResults:
    """Fit many methods to simulated logs of many sizes, and test every policy in simulation (Section 5).

    Parameters
    ----------
    scenario : Scenario, str or Path
        The shop: a scenario, the name of a preset, or the path of a TOML file.
    out : str or Path
        Folder of the experiment. One that was stopped is resumed, and more runs, levels or methods add to it.
    levels : tuple of int
        Numbers of episodes to learn from, rising. At the default ones methods that are not the paper's are fitted at 5,
        10 and 50 alone.
    runs : int
        Independent runs.
    methods : tuple of str, optional
        Learners by name; by default the paper's, the planner and the baselines.
    behaviours : tuple of str
        Who made the logs: "uniform"; "near-optimal", pi* with a tenth of uniform decisions; "pi-star"; "softmax", over
        the Q of an oracle that sees all demand; "ppo", the policy of `ppo`, sampled.
    ppo : str or Path, optional
        Policy file of the behaviour "ppo", as `lostsales solve --target ppo` writes it.
    iterations : int
        K of the methods of fitted Q-iteration.
    test_episodes : int
        Episodes in which every policy is tested.
    workers : int
        Processes; results do not depend on it.
    seed : int
        Seed of the experiment.
    progress : callable, optional
        Called with the numbers of finished and of all cells.

    Returns
    -------
    ExperimentResults
        All finished cells. `out` also holds them as `results.parquet`, with `summary.csv`, `claims.csv`,
        `times.csv` and, where results were published, `published.csv`.

    Raises
    ------
    SettingError
        If a setting is out of range, there is no such scenario or method, or `out` holds another experiment.
    LostSalesError
        If the run is interrupted, or another process works in the same folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> shop = Scenario.load("newsvendor", ("horizon=12",))
    >>> with TemporaryDirectory() as out:
    ...     found = experiment(shop, out, levels=(5,), runs=1, methods=("base-stock",), test_episodes=10, workers=1)
    >>> len(found.finished), found.failures
    (8, {})

    """
    folder, file = Path(out), None if ppo is None else Path(ppo)
    design = Experiment(
        scenario=as_scenario(scenario),
        levels=levels,
        runs=runs,
        methods=default_methods() if methods is None else methods,
        behaviours=behaviours,
        ppo=None if file is None else ppo_checksum(file),
        iterations=iterations,
        test_episodes=test_episodes,
        seed=seed,
    )
    results = ExperimentResults(design, run_experiment(design, folder, workers, progress, file))
    write_tables(results, summarise_results(results), check_claims(results), folder)
    return results
