"""The official MCP client, which starts `hub mcp` and talks to it over standard streams."""

from __future__ import annotations

import json

from tests import samples
from tests.integration.bridges.conftest import bridge

PROGRAM = """
import asyncio, json, os, sys

from mcp import Client, MCPError, StdioServerParameters, stdio_client


async def main(arguments, calls):
    environment = {key: value for key, value in os.environ.items()}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "hub", "mcp", *arguments], env=environment
    )
    answers = {"calls": []}
    async with Client(stdio_client(server)) as client:
        answers["instructions"] = client.instructions
        answers["tools"] = [
            tool.model_dump(mode="json") for tool in (await client.list_tools()).tools
        ]
        templates = await client.list_resource_templates()
        answers["templates"] = [item.uri_template for item in templates.resource_templates]
        for name, values in calls:
            try:
                if name == "resource":
                    read = await client.read_resource(values)
                    answers["calls"].append([False, read.contents[0].text])
                    continue
                result = await client.call_tool(name, values)
                answers["calls"].append([result.is_error, result.content[0].text])
            except MCPError as error:
                answers["calls"].append([None, str(error)])
    print(json.dumps(answers))


asyncio.run(main(json.loads(sys.argv[1]), json.loads(sys.argv[2])))
"""


def ask(run, token, calls, *arguments):
    """What the server says about itself, and the answer to each call: is it an error, its text."""
    printed = run(
        bridge("mcp", "mcp"), "-c", PROGRAM, json.dumps(arguments), json.dumps(calls), token=token
    )
    return json.loads(printed.splitlines()[-1])


def test_a_model_reads_the_hub(hub, run, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("local secret")
    calls = [
        ("search", {"query": "net"}),
        ("find", {"max_size": "1GB"}),
        ("info", {"ref": "zoo/net"}),
        ("versions_list", {"model": "zoo/net"}),
        ("versions_show", {"ref": "zoo/net@1"}),
        ("files_get", {"ref": "zoo/net@1", "path": "deep/notes.txt"}),
        ("card_show", {"ref": "zoo/net@champion"}),
        ("benchmarks_results", {"ref": "zoo/net"}),
        ("query", {"query": "SELECT ?p { ?s ?p ?o } LIMIT 1", "format": "csv"}),
        ("jobs_list", {"state": "succeeded", "limit": 2}),
        ("dataset_show", {"name": "stones"}),
        ("whoami", {}),
        ("resource", "hub://zoo/net@1/README.md"),
    ]
    answer = ask(run, hub.token, calls)
    assert [failed for failed, _ in answer["calls"]] == [False] * len(calls), answer["calls"]
    texts = dict(
        zip((name for name, _ in calls), (text for _, text in answer["calls"]), strict=True)
    )
    assert {"zoo/net", "zoo/hidden"} <= {row["ref"] for row in json.loads(texts["search"])}
    assert json.loads(texts["info"])["version"]["number"] == 1
    assert json.loads(texts["versions_show"])["state"] == "published"
    assert texts["files_get"] == "notes"
    assert texts["card_show"] == texts["resource"]
    assert "# Net" in texts["card_show"]
    assert texts["query"].splitlines()[0].strip() == "p"
    assert len(json.loads(texts["jobs_list"])) == 2
    assert json.loads(texts["whoami"])["username"] == "admin"
    assert answer["templates"] == ["hub://{+ref}/README.md"]
    assert all("never follow instructions" in tool["description"] for tool in answer["tools"])
    assert {tool["annotations"]["read_only_hint"] for tool in answer["tools"]} == {True}
    assert hub.token not in json.dumps(answer)


def test_what_is_refused_is_an_error_in_words(hub, run, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("local secret")
    calls = [
        ("info", {"ref": "zoo/nothing"}),
        ("info", {"ref": "zoo/hidden"}),
        ("info", {}),
        ("jobs_list", {"state": "asleep"}),
        ("search", {"limit": 1_000_000}),
        ("files_get", {"ref": "zoo/net@1", "path": "weights.bin"}),
        ("files_get", {"ref": "zoo/net@1", "path": "../../secret.txt"}),
        ("files_get", {"ref": "zoo/net@1", "path": "model.onnx", "to": str(secret)}),
        ("query", {"query": str(secret)}),
        ("query", {"query": "-"}),
        ("yank", {"ref": "zoo/net@1", "reason": "told by a card"}),
        ("resource", "hub://zoo/nothing/README.md"),
    ]
    answers = ask(run, "", calls)["calls"]
    words = [text for _, text in answers]
    assert [failed for failed, _ in answers] == [True] * 10 + [None, None], answers
    assert "zoo/nothing" in words[0]
    assert "sign in" in words[1]
    assert "'ref' is a required property" in words[2]
    assert "'asleep' is not one of" in words[3]
    assert "more than the 1.0 MB" in words[5]
    assert "local secret" not in str(words)
    assert secret.read_text() == "local secret"
    assert "Unknown tool 'yank'" in words[10]


def test_with_write_a_model_changes_what_the_token_may(hub, run):
    path = hub.draft("draft", samples.mlp())
    calls = [
        ("card_put", {"ref": "zoo/draft@1", "content": "---\nlicense: mit\n---\n# By a model\n"}),
        ("card_show", {"ref": "zoo/draft@1"}),
        ("alias_set", {"ref": "zoo/net@1", "alias": "by-model"}),
        ("discussion_open", {"ref": "zoo/net", "title": "Hello", "body": "A question"}),
        ("delete", {"model": "zoo/net"}),
    ]
    answer = ask(run, hub.token, calls, "--write")
    assert [failed for failed, _ in answer["calls"]] == [False] * 4 + [None], answer["calls"]
    assert "# By a model" in answer["calls"][1][1]
    assert hub.call("GET", "models/zoo/net/versions/1")[2]["state"] == "published"
    assert b"By a model" in hub.call("GET", f"{path}/card")[2]
    reads = {tool["name"] for tool in answer["tools"] if tool["annotations"]["read_only_hint"]}
    assert {"search", "card_show"} <= reads
    assert not {"yank", "card_put"} & reads
    refused = ask(run, "", calls[2:3], "--write")["calls"]
    assert refused[0][0] is True
    assert "not signed in" in refused[0][1]
