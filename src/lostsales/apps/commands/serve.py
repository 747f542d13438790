"""`lostsales serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands import options
from lostsales.apps.console import err, print_json, screen

if TYPE_CHECKING:
    from lostsales.apps.service.desk import Desk
    from lostsales.apps.service.service import Service
    from lostsales.apps.service.settings import ServiceSettings
    from lostsales.apps.service.shop_data import ShopFiles


def serve(
    policy: options.PolicyVersions,
    log: options.ShopLog = None,
    today: Annotated[
        Path | None,
        typer.Option(
            help="Today's rows; by default today.parquet or today.csv next to the policy, else rows after the log."
        ),
    ] = None,
    problem: options.ShopProblem = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; beyond this machine only with keys.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = None,
    keys: Annotated[Path | None, typer.Option(help="File of keys, written by `lostsales keys create`.")] = None,
    decisions: options.DecisionsStore = None,
    supplier: Annotated[
        str | None, typer.Option(help="Column of the supplier of a product; by default supplier, if there is one.")
    ] = None,
    suppliers: Annotated[
        Path | None, typer.Option(help="Table of suppliers: supplier, minimum and budget of an order, in money.")
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(help="https://... that orders are sent to, signed with LOSTSALES_SERVE_WEBHOOK_SECRET."),
    ] = None,
    behind_tls: Annotated[
        bool, typer.Option("--behind-tls", help="Behind a TLS proxy: cookies are secure, browsers use https only.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Load everything, print a summary, and exit.")] = False,
    as_json: options.Json = False,
) -> None:
    """Serve a policy over HTTP and as a web page: today's list, every product, what-if, and the decisions.

    Example: `lostsales serve demo/policy`
    """
    from lostsales.apps.gains import print_policy_verdict
    from lostsales.errors import SettingError

    try:
        from lostsales.apps.service.app import create_app
        from lostsales.apps.service.desk import Desk
        from lostsales.apps.service.server import serve as listen
    except ImportError as error:
        raise SettingError(
            f"serve needs more packages: pip install 'lostsales[serve]' ({error.name} is missing)"
        ) from None
    settings = _settings(
        host=host,
        port=port,
        keys=keys,
        decisions=decisions,
        supplier=supplier,
        suppliers=suppliers,
        webhook=webhook,
        behind_tls=behind_tls or None,
    )
    begin = checked_desk if check else start_service
    begun = begin(policy, log, today, problem, settings)
    desk = begun if isinstance(begun, Desk) else begun.desk
    facts = {"version": desk.version.version, "products": len(desk.morning), "keys": settings.keys is not None}
    found = f"{desk.version.name} ({desk.version.version}) for {len(desk.morning):,} products"
    if isinstance(begun, Desk):
        if as_json:
            print_json(facts)
        else:
            screen.print(f"{found}: ready to be served", markup=False, highlight=False)
        return

    def started(port: int) -> None:
        address = f"http://{'127.0.0.1' if settings.host == '0.0.0.0' else settings.host}:{port}"  # noqa: S104
        if as_json:
            print_json({"address": address} | facts)
            return
        if not desk.is_fleet:
            print_policy_verdict(desk.policy)
        screen.print(f"{found}: open {address} in a browser", markup=False, highlight=False, soft_wrap=True)
        if settings.keys is None:
            screen.print(
                "Without keys it answers requests from this machine only, by any of its users.", highlight=False
            )
        err.print("Requests are logged below as JSON; Ctrl-C stops the service.", style="dim")

    listen(create_app(begun), settings, started)


def _settings(**given: Any) -> "ServiceSettings":
    """Options, else the environment, else the usual; refused where strangers could ask without a key."""
    from pydantic import ValidationError

    from lostsales.apps.service.settings import LOOPBACK, ServiceSettings
    from lostsales.errors import SettingError

    try:
        settings = ServiceSettings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        found = error.errors()[0]
        raise SettingError(f"the setting {'.'.join(map(str, found['loc']))} of the service: {found['msg']}") from None
    wanted = "`lostsales keys create --keys FILE --name NAME`, then `serve --keys FILE`"
    if settings.keys is None and not settings.is_local:
        raise SettingError(f"without keys it listens on 127.0.0.1 only, but host is {settings.host}: {wanted}")
    if settings.keys is None and (settings.behind_tls or not set(settings.hosts) <= LOOPBACK):
        raise SettingError(f"behind a proxy it needs keys, or everyone whom the proxy lets in may do all: {wanted}")
    return settings


def start_service(
    policy: Path, log: Path | None, today: Path | None, problem: Path | None, settings: "ServiceSettings"
) -> "Service":
    """Service of a policy and the files next to it or named; keys are read before any work."""
    from lostsales.apps.service.service import Service

    return Service.start(policy, _shop_files(policy, log, today, problem, settings), settings)


def checked_desk(
    policy: Path, log: Path | None, today: Path | None, problem: Path | None, settings: "ServiceSettings"
) -> "Desk":
    """Desk that the service would begin with; nothing is written."""
    from lostsales.apps.service.service import checked

    return checked(policy, _shop_files(policy, log, today, problem, settings), settings)


def _shop_files(
    policy: Path, log: Path | None, today: Path | None, problem: Path | None, settings: "ServiceSettings"
) -> "ShopFiles":
    from lostsales.apps.service.keys import KeyRing
    from lostsales.apps.service.shop_data import ShopFiles
    from lostsales.errors import LostSalesError

    for path in (log, today, problem):
        if path is not None and not path.exists():
            raise LostSalesError(f"there is no file {path}")
    if settings.keys is not None:
        KeyRing(settings.keys)
    folder = policy if policy.is_dir() else policy.parent
    return ShopFiles.beside(folder, log, today, problem)
