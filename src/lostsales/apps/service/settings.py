"""Settings of the service: from the command line, or from the environment under LOSTSALES_SERVE_."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

MEGABYTE = 1_000_000  # bytes
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ServiceSettings(BaseSettings):
    """Address, access and limits of the service."""

    model_config = SettingsConfigDict(env_prefix="LOSTSALES_SERVE_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on; beyond this machine only with keys.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8765, description="Port to listen on; 0 takes a free one.")
    keys: Path | None = Field(None, description="File of keys, written by `lostsales keys create`.")
    decisions: str | None = Field(
        None, description="postgresql://... or FILE.db (default: decisions.db next to the policy)."
    )
    supplier: str | None = Field(None, description="Column of the supplier of a product (default: supplier, if any).")
    suppliers: Path | None = Field(None, description="Table of suppliers: supplier, minimum, budget (in money).")
    webhook: str | None = Field(None, description="https://... that orders are sent to; nothing else is called.")
    alerts: str | None = Field(None, description="https://... that alerts are sent to, as orders to `webhook`.")
    webhook_secret: SecretStr = Field(SecretStr(""), description="Secret that signs what is sent.")
    behind_tls: bool = Field(False, description="A proxy speaks TLS: cookies are Secure and browsers keep to https.")
    hosts: tuple[str, ...] = Field((), description="Names under which browsers reach it; any, where there are keys.")
    body_bytes: Annotated[int, Field(ge=1000)] = Field(32 * MEGABYTE, description="Largest body of a request.")
    most_rows: Annotated[int, Field(ge=1)] = Field(100_000, description="Most rows of a request.")
    seconds: Annotated[float, Field(gt=0)] = Field(20.0, description="Longest time for an answer.")
    body_seconds: Annotated[float, Field(gt=0)] = Field(20.0, description="Longest time to send a body or its head.")
    rate: Annotated[float, Field(gt=0)] = Field(2000.0, description="Requests per second of one key.")
    burst: Annotated[int, Field(ge=1)] = Field(4000, description="Requests of one key at once.")
    refused_rate: Annotated[float, Field(gt=0)] = Field(0.5, description="Refused keys per second of one address.")
    refused_burst: Annotated[int, Field(ge=1)] = Field(20, description="Refused keys of one address at once.")
    waiting: Annotated[int, Field(ge=1)] = Field(512, description="Requests that may wait for an answer.")
    connections: Annotated[int, Field(ge=1)] = Field(1000, description="Open connections.")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(2, description="Threads that decide.")
    bulk_workers: Annotated[int, Field(ge=1, le=64)] = Field(2, description="Processes that decide large tables.")
    flag_chance: Annotated[float, Field(ge=0, le=1)] = Field(0.5, description="Chance of a stock-out that is flagged.")
    flag_money: Annotated[float, Field(ge=0)] = Field(0.0, description="Money at stake below which nothing is flagged.")
    four_eyes: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Cost of an order above which a second person approves it."
    )
    session_hours: Annotated[float, Field(gt=0)] = Field(12.0, description="How long a browser stays signed in.")
    reload_seconds: Annotated[float, Field(gt=0)] = Field(30.0, description="Seconds between checks for changed files.")

    @property
    def is_local(self) -> bool:
        """True if the service listens on this machine only."""
        return self.host in LOOPBACK
