"""The tools of the Model Context Protocol, asked by the SDK's own client."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from lostsales.apps.service.keys import LOCAL, Scope
from lostsales.apps.service.mcp_tools import mcp_server
from lostsales.apps.service.service import Service
from lostsales.apps.service.settings import ServiceSettings
from lostsales.apps.service.shop_data import ShopFiles
from tests.apps.running import run
from tests.apps.service.desks import shop

READ_TOOLS = {"today", "explain", "what_if", "forecast", "policies", "decisions"}
Work = Callable[[Client], Awaitable[Any]]


def asked(folder: Path, scope: Scope, work: Work) -> Any:
    """What a client gets from the tools of a key with a scope."""
    service = Service.start(shop(folder), ShopFiles.beside(folder, None, None, None), ServiceSettings())
    server = mcp_server(service, LOCAL.model_copy(update={"name": "agent", "scopes": (scope,)}))

    async def work_of_client() -> Any:
        async with Client(server) as client:
            return await work(client)

    try:
        return asyncio.run(work_of_client())
    finally:
        service.close()


async def told(client: Client, tool: str, **given: Any) -> Any:
    found = await client.call_tool(tool, given)
    assert not found.is_error, found.content
    return found.structured_content


async def refusal(client: Client, tool: str, **given: Any) -> str:
    found = await client.call_tool(tool, given)
    assert found.is_error
    return str(found.content[0].model_dump()["text"])


def test_a_key_that_may_read_has_no_tool_that_writes(tmp_path: Path) -> None:
    async def names(client: Client) -> set[str]:
        tools = (await client.list_tools()).tools
        assert all(each.annotations is not None and each.annotations.read_only_hint for each in tools)
        return {each.name for each in tools}

    assert asked(tmp_path, "read", names) == READ_TOOLS


def test_the_tools_answer_as_the_service_does(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        listed = await told(client, "today", limit=3)
        assert listed["found"] == 6
        assert len(listed["products"]) == 3
        first = listed["products"][0]
        explained = await told(client, "explain", series=first["series"])
        assert explained["recommended"]["order"] == first["order"]
        other = await told(client, "what_if", series=first["series"], order=first["order"] + 1)
        assert other["instead"]["order"] == first["order"] + 1
        assert len((await told(client, "forecast", series=first["series"], horizon=2))["rows"]) == 2
        assert (await told(client, "policies"))["active"] == listed["version"]

    asked(tmp_path, "read", work)


def test_a_decision_is_stored_once_it_is_what_was_seen(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        listed = await told(client, "today")
        first = listed["products"][0]
        seen = {"version": listed["version"], "recommended_price": first["price"]}
        given = {"series": first["series"], "status": "accepted", **seen}
        assert "this has changed" in await refusal(client, "decide", **given, recommended_order=first["order"] + 1)
        done = await told(client, "decide", **given, recommended_order=first["order"])
        assert (done["who"], done["status"], done["order"]) == ("agent", "accepted", first["order"])
        stored = (await told(client, "decisions"))["result"]
        assert [each["series"] for each in stored] == [first["series"]]

    asked(tmp_path, "decide", work)


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("explain", {"series": "nonsense"}, "nonsense"),
        ("what_if", {"series": "3", "price": -1}, "greater than or equal to 0"),
        ("forecast", {"series": "3", "horizon": 1000}, "less than or equal to 60"),
    ],
)
def test_a_bad_question_is_refused_in_words(tmp_path: Path, tool: str, given: dict[str, Any], message: str) -> None:
    async def work(client: Client) -> None:
        assert message in await refusal(client, tool, **given)

    asked(tmp_path, "read", work)


def test_a_check_names_the_tools(tmp_path: Path) -> None:
    shown = run("mcp", shop(tmp_path), "--check")
    assert set(shown.partition("the tools ")[2].replace(".", "").replace(",", "").split()) == READ_TOOLS


def test_the_command_answers_on_standard_input_and_output(tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "lostsales", "mcp", str(shop(tmp_path))], env=dict(os.environ)
    )

    async def listed() -> Any:
        async with Client(command) as client:
            return await told(client, "today", search="3")

    assert json.loads(json.dumps(asyncio.run(listed())))["products"][0]["series"] == "3"
