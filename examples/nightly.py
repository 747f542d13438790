"""A nightly job: refit on the log, compare with the active policy on periods that neither has seen, activate if better.

    python nightly.py LOG --service http://127.0.0.1:8765 --policies policies [--key-file key] [--method planner]

The candidate is fitted without the last periods and evaluated there against the active policy, unit by unit; where its
gain over it is proven, it is fitted to the whole log, saved with its evaluation beside the others
and activated. Prints one JSON object. Exit codes: 0 activated, 3 kept what is active, 2 an error.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import numpy as np

import lostsales
from lostsales.data.sublogs import without
from lostsales.evaluation.interval import Interval

ACTIVATED, KEPT, FAILED = 0, 3, 2


def options() -> argparse.ArgumentParser:
    """The options of the job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("log", type=Path)
    parser.add_argument("--service", default="http://127.0.0.1:8765")
    parser.add_argument("--policies", type=Path, required=True, help="the folder that the service serves")
    parser.add_argument("--key-file", type=Path, help="a file with a key of the scope admin")
    parser.add_argument("--method", default="planner")
    parser.add_argument("--hold-out", type=int, default=28, help="last periods, to evaluate on")
    return parser


def main() -> int:
    """Run the job; the exit code."""
    given = options().parse_args()
    key = given.key_file.read_text().strip() if given.key_file else ""
    try:
        told = run(given.log, given.service, given.policies, key, given.method, given.hold_out)
    except (lostsales.LostSalesError, URLError, OSError) as error:
        print(json.dumps({"activated": False, "error": str(error)}))
        return FAILED
    print(json.dumps(told))
    return ACTIVATED if told["activated"] else KEPT


def run(path: Path, service: str, policies: Path, key: str, method: str, hold_out: int) -> dict[str, Any]:
    """Refit, compare, and activate where it is proven better."""
    log = lostsales.read_log(path)
    active = ask(service, "/v1/policies", key)
    name = next(each["name"] for each in active["versions"] if each["active"])
    last = np.unique(log.period)[-hold_out:][0]
    candidate = lostsales.fit(without(log, log.period >= last), method)
    gain = gain_over(candidate, lostsales.load(policies / name), without(log, log.period < last))
    told = {"active": active["active"], "gain": [gain.value, gain.low, gain.high], "activated": False}
    if not gain.proven:
        return told | {"reason": "the gain over the active policy is not proven"}
    file = policies / f"{method}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    policy = lostsales.fit(log, method)
    evaluation = json.dumps(lostsales.evaluate(policy, log).to_json())
    policy.save(file)
    Path(f"{file}.evaluation.json").write_text(evaluation)
    versions = ask(service, "/v1/policies", key)["versions"]
    version = next(each["version"] for each in versions if each["name"] == file.name)
    reason = f"gains {gain.value:+.2f} a period on {hold_out} held-out periods ({gain.low:+.2f} to {gain.high:+.2f})"
    ask(service, f"/v1/policies/{version}/activate", key, {"reason": reason})
    return told | {"activated": True, "active": version, "reason": reason}


def gain_over(candidate: lostsales.SavedPolicy, active: lostsales.SavedPolicy, log: lostsales.SalesLog) -> Interval:
    """Profit a period of one policy less that of another on the same log, paired over its resampling units."""
    one, other = (lostsales.evaluate(each, log).best for each in (candidate, active))
    if one is None or other is None or one.estimator != other.estimator:
        raise lostsales.LostSalesError("the held-out periods do not tell what the policies would earn")
    assert one.contributions is not None
    assert other.contributions is not None
    return Interval.of(one.contributions - other.contributions)


def ask(service: str, path: str, key: str, body: dict[str, Any] | None = None) -> Any:
    """A request to the service."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{service}{path}", data, headers), timeout=60) as answer:  # noqa: S310, as the user gave it
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
