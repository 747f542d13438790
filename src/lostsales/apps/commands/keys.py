"""`lostsales keys`: create, list and revoke the keys of a service."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json
from lostsales.apps.console import print_json, screen, show

KeyFile = Annotated[Path, typer.Option("--keys", help="The file of keys.")]

keys = typer.Typer(
    name="keys",
    help="Create, list and revoke the keys of `lostsales serve`.",
    no_args_is_help=True,
    add_completion=False,
)


@keys.command()
def create(
    file: KeyFile,
    name: Annotated[str, typer.Option(help="Name of its owner, under which decisions are stored.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="Permission: read, decide or admin; each includes the ones before.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0.0001, max=36500, help="Days until it expires; by default 365.")
    ] = 365,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Products that it is for, as category=Dairy or store=Berlin; again for more; by default all."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a key, show it once, and store its hash.

    Example: `lostsales keys create --keys keys.json --name anna --scope decide --only category=Dairy`
    """
    from pydantic import ValidationError

    from lostsales.apps.service.keys import SCOPES, create_key
    from lostsales.errors import SettingError

    asked = scope or ["read"]
    if unknown := [each for each in asked if each not in SCOPES]:
        raise SettingError(f"a scope is {', '.join(SCOPES)}, but {unknown[0]!r} came")
    part: dict[str, tuple[str, ...]] = {}
    for each in only or []:
        column, is_given, value = each.partition("=")
        if not is_given or not column or not value:
            raise SettingError(f"--only must be COLUMN=VALUE, such as category=Dairy, but {each!r} came")
        part[column] = (*part.get(column, ()), value)
    try:
        secret, key = create_key(file, name, tuple(each for each in SCOPES if each in asked), days, part)
    except ValidationError as error:
        raise SettingError(f"the name of a key has 1 to 80 characters ({error.errors()[0]['msg']})") from None
    expires = None if key.expires is None else key.expires.isoformat()
    if as_json:
        print_json(
            {
                "key": secret,
                "id": key.id,
                "name": key.name,
                "scopes": list(key.scopes),
                "expires": expires,
                "only": part,
            }
        )
        return
    screen.print(secret, markup=False, highlight=False, soft_wrap=True)
    screen.print(f"Keep it: only its hash is stored. It may {', '.join(key.scopes)} until {expires}.", highlight=False)


@keys.command("list")
def list_keys(file: KeyFile, as_json: Json = False) -> None:
    """List the keys of a file, without their secrets.

    Example: `lostsales keys list --keys keys.json`
    """
    import json
    from datetime import UTC, datetime

    from lostsales.apps.service.keys import read_keys

    now, known = datetime.now(UTC), read_keys(file)
    if as_json:
        found = [json.loads(each.model_dump_json(exclude={"hash"})) for each in known]
        print_json({"keys": [key | {"expired": each.is_expired(now)} for key, each in zip(found, known, strict=True)]})
        return
    for each in known:
        ends = "has expired" if each.is_expired(now) else f"until {each.expires or 'it is revoked'}"
        part = f" ({each.part})" if each.only else ""
        screen.print(f"{each.id}  {each.name}: {', '.join(each.scopes)}{part}, {ends}", markup=False, highlight=False)


@keys.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Name or id of the key.")], file: KeyFile, as_json: Json = False
) -> None:
    """Revoke a key; a service that runs refuses it within a second.

    Example: `lostsales keys revoke anna --keys keys.json`
    """
    from lostsales.apps.service.keys import revoke_key

    key = revoke_key(file, name)
    show(
        as_json,
        lambda: {"revoked": key.id, "name": key.name},
        lambda: screen.print(f"Revoked {key.name} ({key.id}).", markup=False, highlight=False),
    )
