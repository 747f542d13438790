"""A fleet on a Ray cluster of two nodes, of which one is killed: the same bytes as in one process."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lostsales.apps.fleet.engine import Processes, Ray, engine_of
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.store import Store
from lostsales.errors import LostSalesError, SettingError
from tests.apps.fleet.shops import shop_columns, tree, write_source

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray are not ours
METHOD = "base-stock"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core on this machine."""
    utils = pytest.importorskip("ray.cluster_utils")
    found = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.add_node(num_cpus=1)
    yield found
    found.shutdown()


def test_an_error_of_a_task_is_told_as_without_ray(cluster: Any, tmp_path: Path) -> None:
    shop, columns = shop_columns(3, periods=5)
    source = write_source(tmp_path / "source", columns, shop)
    with pytest.raises(LostSalesError, match="no product could be fitted"):
        fit_fleet(source, tmp_path / "store", METHOD, engine=Ray(cluster.address))
    assert Store.at(tmp_path / "store").current_name() is None


@pytest.mark.slow
def test_a_node_that_is_killed_changes_no_byte(cluster: Any, tmp_path: Path) -> None:
    shop, columns = shop_columns(60)
    source = write_source(tmp_path / "source", columns, shop)
    seen: list[int] = []

    def kill_in_the_middle(done: int, total: int) -> None:
        if done > total / 4 and len(cluster.worker_nodes) == 1:
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
            seen.append(done)

    fit_fleet(source, tmp_path / "ray", METHOD, shard_size=3, engine=Ray(cluster.address), progress=kill_in_the_middle)
    assert 15 < seen[0] < 60
    fit_fleet(source, tmp_path / "serial", METHOD, shard_size=3)
    assert tree(tmp_path / "ray") == tree(tmp_path / "serial")


def test_no_cluster_at_the_address_is_one_error() -> None:
    pytest.importorskip("ray")
    with pytest.raises(LostSalesError, match="there is no Ray cluster at"):
        list(Ray("127.0.0.1:1").run(abs, [-1]))


def test_without_ray_processes_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert engine_of(2, None) == Processes(2)
    with pytest.raises(SettingError, match=r"lostsales\[fleet\]"):
        engine_of(2, "auto")
