"""The behaviour `ppo`: the policy in a file by `solve --target ppo`, its actions drawn as in training."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from lostsales.data.output_files import replacing
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.experiments.design import Experiment
from lostsales.lab.experiments.folder import reference_path
from lostsales.lab.ppo_policy import PpoPolicy
from lostsales.simulation.named_policies import saved_policy
from lostsales.simulation.scenario import Scenario


def ppo_behaviour(path: Path, scenario: Scenario) -> PpoPolicy:
    """The policy of a file, sampled; refused where it is another kind or was made for another shop."""
    policy = saved_policy(path, scenario)
    if not isinstance(policy, PpoPolicy):
        raise SettingError(
            f"the behaviour ppo needs a policy by `lostsales solve --target ppo`, but {path} has another"
        )
    return replace(policy, sampled=True)


def ppo_checksum(path: Path) -> str:
    """SHA-256 of a policy file: it is part of the settings, so that a folder has the logs of one policy."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise LostSalesError(f"{path} cannot be read: {error.strerror}") from None


def keep_ppo(experiment: Experiment, folder: Path, given: Path | None) -> None:
    """Put the policy file of an experiment into its folder, unless it is there."""
    path = reference_path(folder, "ppo")
    source = path if path.is_file() else given
    if source is None:
        raise SettingError("the behaviour ppo needs the file of a policy: --ppo FILE, by `solve --target ppo`")
    if ppo_checksum(source) != experiment.ppo:
        raise SettingError(f"{source} is not the policy file that the experiment was begun with")
    ppo_behaviour(source, experiment.scenario)
    if source != path:
        with replacing(path) as temporary:
            temporary.write_bytes(source.read_bytes())
