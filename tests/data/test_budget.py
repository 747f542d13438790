"""Costs of work, estimated before it begins."""

from lostsales.data.budget import Cost, slowness


def test_costs_add_in_time_and_share_memory() -> None:
    assert Cost(1.0, 5.0) + Cost(2.0, 3.0) * 2 == Cost(5.0, 5.0)


def test_the_speed_of_the_machine_is_measured_once() -> None:
    assert 0.05 < slowness() < 50
    assert slowness() == slowness()
