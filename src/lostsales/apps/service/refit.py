"""Refitting from the page: a method is compared with current decisions on held-out rows, fitted and saved as a version.

The job runs in a process of its own, one at a time; the file that it writes carries its verdict.
"""

import multiprocessing
import shutil
import threading
import tomllib
import warnings
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Form, Request, Response

from lostsales.apps.service import models
from lostsales.apps.service.api import Admin, Here, Reader
from lostsales.apps.service.deciding import now
from lostsales.apps.service.pages import checked_form, done_at, may, shown_page
from lostsales.apps.service.problems import Refused, documented
from lostsales.apps.service.service import Service, problem_of
from lostsales.apps.service.versions import StoreVersions
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.settings import checked, to_toml
from lostsales.data.writing import write_log
from lostsales.errors import LostSalesError
from lostsales.evaluation.compare import compare
from lostsales.evaluation.replayed_value import with_replayed_value
from lostsales.learn.fit import fit
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.provenance import learned_by, with_verdict

METHODS = ("planner", "lookahead", "c-fqi", "pc-fqi", "fusion", "base-stock", "s-S-p", "newsvendor")
MOST_RULES = 20_000  # characters
Method = Annotated[str, Form(pattern=f"^({'|'.join(METHODS)})$")]

router = APIRouter(prefix="/v1", responses=documented(401, 403, 409, 422, 429, 503))
pages = APIRouter(include_in_schema=False)


@dataclass
class RefitJob:
    """Job that refits, and how far it is."""

    who: str
    method: str
    started: str = field(default_factory=now)
    share: float = 0.0  # done
    step: str = "comparing"
    ended: str = ""
    version: str = ""  # that it made
    verdict: str = ""
    error: str = ""

    @property
    def status(self) -> str:
        """State in a word."""
        return "failed" if self.error else "done" if self.ended else "running"

    def answer(self) -> models.RefitAnswer:
        """State for JSON."""
        return models.RefitAnswer(**{each: getattr(self, each) for each in models.RefitAnswer.model_fields})


@router.get("/policies/refit")
async def state(service: Here, _: Reader) -> models.RefitAnswer | None:
    """Progress and result of the last refit; null if there was none since the service began."""
    job: RefitJob | None = service.refit
    return None if job is None else job.answer()


@router.post("/policies/refit", status_code=202)
async def begin(asked: models.RefitRequest, service: Here, who: Admin) -> models.RefitAnswer:
    """Compare, fit and save a method on the present data; it is activated by a request of its own."""
    job: RefitJob = await service.run(lambda: start(service, asked.method, asked.rules, who.key.name))
    return job.answer()


@pages.get("/policies/refit")
async def refit_page(request: Request, service: Here, _: Reader) -> Response:
    """Page with a form to refit, its progress and its result."""
    return await _shown(request, service, None, "")


@pages.post("/policies/refit", dependencies=[Depends(checked_form)])
async def begin_form(
    request: Request, service: Here, method: Method, rules: Annotated[str, Form(max_length=MOST_RULES)] = ""
) -> Response:
    """Begin to refit from the page."""
    who = may(request, "admin").key.name
    try:
        await service.run(lambda: start(service, method, rules, who))
    except Refused as refused:
        if request.headers.get("accept", "").startswith("application/json"):
            raise
        return await _shown(request, service, refused, rules)
    return done_at(request, "/policies/refit")


async def _shown(request: Request, service: Service, refused: Refused | None, typed: str) -> Response:
    learned = learned_by(service.desk.policy)
    content = {
        "job": service.refit,
        "methods": METHODS,
        "method": "planner" if learned is None else learned.method,
        "rules": typed or rules_text(service.desk.data.problem),
        "refused": refused,
    }
    return await shown_page(request, "refit.html", content, 200 if refused is None else refused.status)


def rules_text(problem: Problem) -> str:
    """Tables of rules and costs of a problem, as TOML to be edited."""
    own = problem.model_dump(exclude_none=True)
    tables = {"rules": problem.rules.model_dump(exclude_defaults=True), "costs": own.get("costs", {})}
    return to_toml({name: keys for name, keys in tables.items() if keys})


def edited(problem: Problem, rules: str) -> Problem:
    """Problem with edited tables of rules and costs."""
    try:
        keys = tomllib.loads(rules)
    except tomllib.TOMLDecodeError as error:
        raise LostSalesError(f"rules and costs must be TOML: {error}") from None
    if set(keys) - {"rules", "costs"}:
        raise LostSalesError("only the tables [rules] and [costs] may be edited here")
    return checked(Problem, tomllib.loads(problem.to_toml()) | {"rules": {}} | keys, "rules and costs")


def start(service: Service, method: str, rules: str, who: str) -> RefitJob:
    """Begin a job; refused while another one runs."""
    if isinstance(service.folder, StoreVersions):
        raise Refused(409, "a fleet is fitted again by `lostsales fleet fit`")
    if service.desk.data.log is None:
        raise Refused(409, "there is no log to fit to")
    data, problem = service.desk.data, None
    if rules.strip() and rules.strip() != rules_text(data.problem).strip():
        problem = edited(data.problem, rules)
        data = service.data_of(replace(service.files, problem=problem))
    with service.refitting:
        if service.refit is not None and service.refit.status == "running":
            raise Refused(409, "another refit is running")
        service.refit = job = RefitJob(who, method)
    threading.Thread(target=_follow, args=(service, job, data.log, problem), name="refit", daemon=True).start()
    return job


def _follow(service: Service, job: RefitJob, log: SalesLog, problem: Problem | None) -> None:
    """Run a job in a process of its own, and put its file among the versions."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    try:
        with TemporaryDirectory(prefix="lostsales-") as name:
            folder = Path(name)
            write_log(log, folder / "log.parquet")
            process = context.Process(target=refitted, args=(there, folder, job.method), daemon=True)
            process.start()
            there.close()
            while True:
                try:
                    told = here.recv()
                except EOFError:
                    break
                for key, value in told.items():
                    setattr(job, key, value)
            process.join()
            if not job.error and not (folder / "policy").is_file():
                job.error = "the process ended without a policy"
            if not job.error:
                job.version = _put(service, folder / "policy", job.method, problem)
    except (LostSalesError, OSError) as error:
        job.error = str(error)
    job.ended = now()


def _put(service: Service, policy: Path, method: str, problem: Problem | None) -> str:
    """Put a fitted policy among the versions, with the problem that it was fitted with if that was edited."""
    path = service.folder.folder / f"{method}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if problem is not None:
        problem_of(path).write_text(problem.to_toml(), encoding="utf-8")
    shutil.move(policy, path)
    return next(each.version for each in service.folder.versions() if each.path == path)


def refitted(to: Connection, folder: Path, method: str) -> None:
    """Compare a method with current decisions, fit it to the whole log and save it with the verdict."""

    def progress(done: float, total: float) -> None:
        to.send({"share": 0.8 * done / max(total, 1)})  # it fails, and ends this process, once nobody reads it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log = read_log(folder / "log.parquet")
            found = compare(log, [method], workers=1, progress=progress)
            to.send({"share": 0.8, "step": "fitting", "verdict": found.policy_verdict.sentence})
            policy = with_replayed_value(fit(log, method), log.decisions("fit"), 0)
            if found.chosen is not None and found.chosen.choice.kept:
                policy = ChosenProducts(policy, np.array(found.chosen.choice.products, dtype=object))
            with_verdict(policy, found.policy_verdict).save(folder / "policy")
            to.send({"share": 1.0, "step": "saved"})
    except LostSalesError as error:
        to.send({"error": str(error)})
    except BrokenPipeError:
        return
    finally:
        to.close()
