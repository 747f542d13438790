"""The policies of a fleet as one: each product is decided as by the policy of its shard."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import lostsales
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.data.problem import Problem
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.view import Action, View
from lostsales.types import Array
from tests.apps.service.desks import made


@dataclass
class TwoShards:
    """Products 0, 2, 4 of one shard, 1, 3, 5 of another."""

    policies: tuple[SavedPolicy, SavedPolicy]
    policy_shard: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 1})

    @property
    def problem(self) -> Problem:
        """That of both."""
        return self.policies[0].problem

    @property
    def products(self) -> dict[str, Array]:
        """Every product with its shard."""
        return {"series": np.array(list("012345"), dtype=object), "shard": np.arange(6) % 2}

    def policy(self, shard: int) -> SavedPolicy:
        """Of a shard."""
        return self.policies[shard]


def _fleet(policies: tuple[SavedPolicy, SavedPolicy], **given: dict[int, int]) -> FleetPolicy:
    return FleetPolicy.of(cast(Fleet, TwoShards(policies, **given)))


def view() -> View:
    """Six rows, and a product that the fleet never had."""
    stock = np.array([3.0, 9.0, 0.0, 5.0, 2.0, 8.0, 4.0])
    none = np.zeros(7, dtype=np.int64)
    features = (np.ones(7), np.zeros(7))
    names = np.array([*"012345", "new"], dtype=object)
    return View(0, features, stock, stock + 2, none.astype(bool), none, None, names=names)


@pytest.fixture(scope="module")
def policies() -> tuple[SavedPolicy, SavedPolicy]:
    folder: Path = made()
    return lostsales.load(folder / "planner"), lostsales.load(folder / "rule")


def test_products_of_a_shard_without_a_policy_are_decided_by_its_neighbour(
    policies: tuple[SavedPolicy, SavedPolicy],
) -> None:
    fleet, shown = _fleet(policies, policy_shard={0: 1, 1: 1}), view()
    np.testing.assert_array_equal(fleet.explain(shown).price, policies[1].explain(shown).price)


def test_every_product_is_decided_by_its_shard(policies: tuple[SavedPolicy, SavedPolicy]) -> None:
    fleet, shown = _fleet(policies), view()
    found = fleet.explain(shown)
    for shard, rows in enumerate((np.array([0, 2, 4, 6]), np.array([1, 3, 5]))):
        own = policies[shard].explain(shown.take(rows))
        np.testing.assert_array_equal(found.price[rows], own.price)
        np.testing.assert_array_equal(found.order[rows], own.order)
        np.testing.assert_array_equal(found.value[rows], own.value)
    decided = fleet.decide(shown, np.random.default_rng(0))
    np.testing.assert_array_equal(decided.order, found.order)
    assert fleet.expect(shown, decided) is None  # a rule of thumb knows no law of demand
    assert fleet.policy_of("3") is policies[1]


def test_what_is_expected_is_that_of_the_shard(policies: tuple[SavedPolicy, SavedPolicy]) -> None:
    fleet, shown = _fleet((policies[0], policies[0])), view()
    action = Action(np.full(7, 4.0), np.arange(7.0))
    found, whole = fleet.expect(shown, action), policies[0].expect(shown, action)
    assert found is not None
    assert whole is not None
    np.testing.assert_allclose(found.profit, whole.profit)
    atoms, all_atoms = fleet.demand_atoms(shown, action.price), policies[0].demand_atoms(shown, action.price)
    assert atoms is not None
    assert all_atoms is not None
    np.testing.assert_allclose(atoms, all_atoms)
    assert fleet.explain(shown).reasons().keys() == {"price_reason"}


def test_a_store_is_served(tmp_path: Path) -> None:
    from lostsales.apps.fleet.fit import fit_fleet
    from tests.apps.service.desks import running

    fit_fleet(made() / "log.parquet", tmp_path / "store", "base-stock")
    with running(tmp_path, tmp_path / "store") as desk:
        assert desk.service.desk.version.version.startswith("fleet_00001-")
        assert set(desk.service.desk.morning.name) == set("012345")
        row = {"series": "3", "period": 20, "economy": 1, "interest": 0.0, "stock": 6}
        wanted = lostsales.load(next((tmp_path / "store/versions/00001/policies").iterdir()))
        answer = desk.post("/v1/recommend", {"rows": [row]}).json()["rows"][0]
        own = desk.service.desk.policy_of("3").summary()
        assert own == wanted.summary()
        assert answer["order"] >= 0
        assert desk.get("/product?series=3").status_code == 200
        assert [each["name"] for each in desk.get("/v1/policies").json()["versions"]] == ["00001"]
