"""Policies as models of MLflow: `predict` takes a frame of open rows and returns a frame of decisions.

A model is the policy file itself: loading one runs no code of its own. Needs `pip install 'lostsales[mlflow]'`.
"""

import shutil
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.models import Model
from mlflow.models.model import MLMODEL_FILE_NAME
from mlflow.tracking.artifact_utils import _download_artifact_from_uri

from lostsales.policy.file_format import load
from lostsales.policy.policy import SavedPolicy

FLAVOR_NAME = "lostsales"
DATA = "policy"


def save_model(policy: SavedPolicy | str | Path, path: str | Path, mlflow_model: Model | None = None) -> None:
    """Write a policy as a model of MLflow.

    Parameters
    ----------
    policy : SavedPolicy, str or Path
        A policy or its file.
    path : str or Path
        A folder that does not exist yet.
    mlflow_model : mlflow.models.Model, optional
        The model that the flavour is added to; MLflow gives it.

    """
    from importlib.metadata import version

    folder, model = Path(path), Model() if mlflow_model is None else mlflow_model
    folder.mkdir(parents=True)
    if isinstance(policy, str | Path):
        load(policy)  # one error for what is no policy
        shutil.copyfile(policy, folder / DATA)
    else:
        policy.save(folder / DATA)
    model.add_flavor(FLAVOR_NAME, data=DATA, lostsales_version=version("lostsales"))
    mlflow.pyfunc.add_to_model(model, loader_module="lostsales.mlflow", data=DATA)
    model.save(str(folder / MLMODEL_FILE_NAME))


def log_model(policy: SavedPolicy | str | Path, name: str = "policy", **more: Any) -> Any:
    """Log a policy as a model of the active run; further arguments are those of `mlflow.models.Model.log`."""
    import lostsales.mlflow as flavour

    return Model.log(artifact_path=None, name=name, flavor=flavour, policy=policy, **more)


def load_model(model_uri: str | Path) -> SavedPolicy:
    """The policy of a model, by its address in MLflow or its folder."""
    folder = Path(_download_artifact_from_uri(str(model_uri)))
    return load(folder / Model.load(str(folder)).flavors[FLAVOR_NAME]["data"])


class PolicyModel:
    """Model that `mlflow.pyfunc.load_model` wraps."""

    def __init__(self, policy: SavedPolicy) -> None:
        self.policy = policy

    def predict(self, frame: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:  # noqa: ARG002
        """Price and order of every open row.

        Rows with sales are closed and tell the history; rows without are open and are answered, in their order.
        """
        sales, recent, today = self.policy.problem.columns.sales, None, frame
        if sales in frame.columns:
            is_open = frame[sales].isna()
            recent, today = frame[~is_open], frame[is_open].reset_index(drop=True)
        found: pd.DataFrame = self.policy.recommend(recent, today)
        return found


def _load_pyfunc(path: str) -> PolicyModel:
    """MLflow's own loader calls this with the path of the data."""
    return PolicyModel(load(path))
