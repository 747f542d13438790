"""A refit from the page: compared, fitted, saved with its verdict, and activated by a person only."""

import time
from pathlib import Path

from tests.apps.service.desks import Running, running


def ended(desk: Running) -> dict[str, str]:
    end = time.monotonic() + 120
    while True:
        told: dict[str, str] = desk.get("/v1/policies/refit").json()
        if told["status"] != "running":
            return told
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_refit_with_other_rules_is_a_version_with_a_verdict_and_a_preview(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        assert desk.get("/v1/policies/refit").json() is None
        assert desk.post("/v1/policies/refit", {"method": "newsvendor"}, "decide").status_code == 403
        for rules, wanted in (
            ("[rules", "must be TOML"),
            ("[columns]\nprice = 'x'", "only the tables"),
            ("[rules]\nmultiple = -4", "rules.multiple"),
        ):
            refused = desk.post("/v1/policies/refit", {"method": "newsvendor", "rules": rules})
            assert refused.status_code == 422
            assert wanted in str(refused.json()), rules
        begun = desk.post("/v1/policies/refit", {"method": "newsvendor", "rules": "[rules]\nmultiple = 7"})
        assert (begun.status_code, begun.json()["status"]) == (202, "running")
        assert desk.post("/v1/policies/refit", {"method": "newsvendor"}).status_code == 409
        told = ended(desk)
        assert (told["status"], told["error"]) == ("done", "")
        assert told["verdict"]
        assert desk.service.desk.version.name == "planner"  # nothing is activated by itself
        other = desk.service.desk_of(told["version"])
        assert other.verdict is not None
        assert other.verdict.sentence == told["verdict"]
        assert other.policy.problem.rules.multiple == 7
        assert set(other.morning.order % 7) == {0.0}
        csrf = desk.sign_in("admin")
        assert told["version"] in desk.client.get("/policies/refit").text
        form = {"csrf": csrf, "version": told["version"], "reason": "cases of seven"}
        desk.client.post("/policies/activate", data=form)
        assert told["verdict"].partition(":")[0] in desk.client.get("/").text  # the banner over the list
        assert set(desk.service.desk.morning.order % 7) == {0.0}
        assert not desk.service.reload_if_changed()  # its own problem is what it reads
        desk.post("/v1/policies/rollback", {})
        assert desk.service.desk.version.name == "planner"
        assert desk.service.desk.data.problem.rules.multiple is None


def test_a_refit_that_fails_says_why(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        assert desk.post("/v1/policies/refit", {"method": "no-such-method"}).status_code == 202
        told = ended(desk)
        assert told["status"] == "failed"
        assert "no-such-method" in told["error"]
