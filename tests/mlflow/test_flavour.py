"""The flavour with MLflow's own loader: `make mlflow` runs this in an environment of its own, as MLflow brings much."""

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

import lostsales
import lostsales.mlflow
from lostsales.errors import LostSalesError
from lostsales.simulation.scenario import Scenario

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns of its own types when it is imported


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log, _ = lostsales.simulate(Scenario.load("released", ("horizon=20",)), episodes=6, seed=1)
    path = tmp_path_factory.mktemp("policy") / "policy"
    lostsales.fit(log, "base-stock").save(path)
    return path


TODAY = pd.DataFrame({"series": ["a", "b"], "period": 5, "economy": 1.0, "interest": 0.0, "stock": [2.0, 9.0]})
RECENT = pd.DataFrame(
    {
        "series": ["a", "b"], "period": 4, "economy": 1.0, "interest": 0.0, "stock": [9.0, 9.0], "price": 4.0,
        "order": 3.0, "sales": [5.0, 6.0], "stockout": False,
    }
)  # fmt: skip


def test_the_loader_of_mlflow_predicts_as_the_policy_recommends(policy_file: Path, tmp_path: Path) -> None:
    lostsales.mlflow.save_model(policy_file, tmp_path / "model")
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    policy = lostsales.load(policy_file)
    pd.testing.assert_frame_equal(model.predict(TODAY), policy.recommend(None, TODAY))
    mixed = pd.concat([RECENT, TODAY], ignore_index=True)
    found, wanted = model.predict(mixed), policy.recommend(RECENT, TODAY)
    np.testing.assert_array_equal(found[["price", "order", "depth"]], wanted[["price", "order", "depth"]])


def test_it_is_logged_and_loaded_from_a_run(policy_file: Path, tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("shop", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("shop")
    with mlflow.start_run():
        logged = lostsales.mlflow.log_model(lostsales.load(policy_file))
    again = lostsales.mlflow.load_model(logged.model_uri)
    assert again.summary() == lostsales.load(policy_file).summary()
    assert mlflow.pyfunc.load_model(logged.model_uri).predict(TODAY)["order"].tolist() == (
        again.recommend(None, TODAY)["order"].tolist()
    )


def test_what_is_no_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no policy")
    with pytest.raises(LostSalesError, match="not a policy file"):
        lostsales.mlflow.save_model(tmp_path / "text", tmp_path / "model")
