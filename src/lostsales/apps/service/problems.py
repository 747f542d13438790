"""Error responses: one shape, without path, query or traceback."""

from collections.abc import Sequence
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lostsales.errors import LogError, LostSalesError

MOST_FINDINGS = 20  # in a response
MOST_LETTERS = 500  # of a message or finding
TRIED = ("str", "int", "float", "bool")  # parts of the place of a finding: types of a value that may have several
TITLES = {
    400: "the request cannot be read",
    401: "a key is needed",
    403: "this key may not do this",
    404: "there is nothing here",
    405: "this is not done here",
    408: "the request came too slowly",
    409: "this cannot be done now",
    413: "the request is too large",
    415: "this kind of body cannot be read",
    421: "this name is not served here",
    422: "the request cannot be used",
    429: "too many requests",
    500: "an error of the service",
    503: "the service is busy",
}


class ProblemDetails(BaseModel):
    """Error response."""

    status: int = Field(examples=[422])
    message: str = Field(examples=["the request cannot be used"])
    findings: list[str] = Field(
        default_factory=list, examples=[["stock must be a number of at least 0, but row 0 (series=3) has -4"]]
    )
    confirm: bool = Field(False, description="The same request with `confirmed` is stored.")


class Refused(Exception):  # noqa: N818, an answer rather than an error
    """Refusal of a request."""

    def __init__(
        self,
        status: int,
        message: str = "",
        findings: Sequence[str] = (),
        retry: int | None = None,
        confirm: bool = False,
    ) -> None:
        super().__init__(message)
        self.confirm = confirm
        self.status, self.message, self.findings, self.retry = status, message or TITLES[status], findings, retry

    def __reduce__(self) -> tuple[type["Refused"], tuple[object, ...]]:
        return type(self), (self.status, self.message, self.findings, self.retry, self.confirm)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        found = {} if self.retry is None else {"Retry-After": str(self.retry)}
        return found | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})

    def response(self) -> JSONResponse:
        """Response in JSON."""
        findings = [_shortened(each) for each in self.findings[:MOST_FINDINGS]]
        problem = ProblemDetails(
            status=self.status, message=_shortened(self.message), findings=findings, confirm=self.confirm
        )
        return JSONResponse(problem.model_dump(), self.status, self.headers)


def refusal_of(error: LostSalesError) -> Refused:
    """Refusal for an error of the library, with its rows and columns."""
    if isinstance(error, LogError):
        return Refused(422, "the rows cannot be used (rows count from 0)", error.findings)
    return Refused(422, TITLES[422], (str(error),))


def findings_of(errors: Sequence[Any]) -> list[str]:
    """Findings of pydantic with their place, one for each, without the value and the types that were tried."""
    found: dict[str, str] = {}
    for each in errors:
        parts = [str(part) for part in each["loc"] if part not in TRIED and "[" not in str(part)]
        text = each["msg"].removeprefix("Value error, ")
        found.setdefault(".".join(parts) or "the body", f"{text[:1].lower()}{text[1:]}")
    return [f"{place}: {text}" for place, text in found.items()]


def _shortened(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return plain if len(plain) <= MOST_LETTERS else f"{plain[: MOST_LETTERS - 3]}..."


def documented(*statuses: int) -> dict[int | str, dict[str, object]]:
    """Refusals of a route, for its documentation."""
    return {each: {"model": ProblemDetails, "description": TITLES[each]} for each in statuses}
