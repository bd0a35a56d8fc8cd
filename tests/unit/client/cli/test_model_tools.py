"""Commands as tools: what is declared, what an argument can reach, and what an answer shows."""

from __future__ import annotations

import json

import jsonschema
import pytest

from hub.cli import model_tools
from hub.cli.control.verbs import Verb
from hub.client import api
from hub.protocol import problems
from scripts.rest import place
from tests.openapi_server import operations
from tests.unit.client.conftest import make_model

pytestmark = pytest.mark.usefixtures("default")

METHODS = {}
for identifier, method, _, _ in operations():
    try:
        METHODS[".".join(place(identifier))] = method
    except KeyError:  # omitted from the client
        continue


def tool(name, *, write=False):
    return next(tool for tool in model_tools.tools(write=write) if tool.name == name)


def verb_of(tool):
    """The declaration of a command of one operation; None for the others."""
    owner = getattr(tool.parser.get_default("command"), "__self__", None)
    return owner if isinstance(owner, Verb) else None


def test_every_declared_command_is_a_tool_with_a_schema():
    tools = model_tools.tools(write=True)
    assert [tool.path for tool in tools] == [*model_tools.READ, *model_tools.WRITE]
    for each in tools:
        jsonschema.Draft202012Validator.check_schema(each.schema)
        assert all(value["description"] for value in each.schema["properties"].values()), each.path
        names = set(each.schema["properties"])
        assert not {"to", "yes", "force", "json", "token"} & names, each.path


def test_reading_tools_send_only_reads_and_no_tool_does_what_cannot_be_undone():
    for each in model_tools.tools():
        verb = verb_of(each)
        if verb is not None:
            assert METHODS[verb.operation] == "GET", each.path
        else:
            assert each.path in {"search", "find", "info", "diff", "query", *DATASETS}, each.path
    for path in model_tools.WRITE:
        verb = verb_of(tool(path.replace(" ", "_"), write=True))
        assert verb is not None, path
        # A yank asks about what depends on the version; a tool cannot, so the hub refuses it.
        assert not verb.question or path == "yank", path
        assert METHODS[verb.operation] != "GET", path


DATASETS = ("dataset list", "dataset show")


def test_an_argument_names_no_local_file(fake, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("{ local secret }")
    fake.add("zoo/ones", make_model())
    for name, values in (
        ("card_put", {"ref": "zoo/ones@1", "content": str(secret)}),
        ("files_get", {"ref": "zoo/ones@1", "path": str(secret)}),
        ("files_get", {"ref": "zoo/ones@1", "path": "model.onnx", "to": str(secret)}),
        ("benchmarks_run", {"ref": "zoo/ones@1", "shapes": f"@{secret}"}),
    ):
        text, has_failed = tool(name, write=True).call(values)
        assert has_failed, name
        assert "local secret" not in text
    assert secret.read_text() == "{ local secret }"


def test_an_answer_is_bounded_and_clean(fake, monkeypatch):
    fake.add("zoo/ones", make_model())
    text, has_failed = tool("info").call({"ref": "zoo/ones"})
    assert not has_failed
    assert json.loads(text)["ref"] == "zoo/ones"
    monkeypatch.setattr(model_tools, "MAX_CHARACTERS", 40)
    text, _ = tool("info").call({"ref": "zoo/ones"})
    assert len(text.partition("\n")[0]) == 40
    assert "ask for less" in text


def test_the_token_is_in_no_answer(fake, monkeypatch):
    monkeypatch.setenv("HUB_TOKEN", "hf_secret_of_the_user")
    body = json.dumps(
        {
            "type": "/problems/not-found",
            "detail": "\x1b[2JYou sent hf_secret_of_the_user\u202e",
        }
    ).encode()
    fake.answers.append((404, {"Content-Type": "application/problem+json"}, body))
    text, has_failed = tool("info").call({"ref": "zoo/ones"})
    assert has_failed
    assert "You sent [token]" in text
    assert "hf_secret" not in text
    assert text.isprintable() or set(text) & {"\n"}
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_text_file_is_shown_and_another_is_not(fake, monkeypatch):
    fake.add("zoo/ones", {**make_model(), "labels.txt": b"a\nb\n"})
    assert tool("files_get").call({"ref": "zoo/ones", "path": "labels.txt"}) == ("a\nb", False)
    text, has_failed = tool("files_get").call({"ref": "zoo/ones", "path": "model.onnx"})
    assert (has_failed, "not a text file" in text) == (True, True)
    monkeypatch.setattr(model_tools, "MAX_FILE_BYTES", 3)
    text, has_failed = tool("files_get").call({"ref": "zoo/ones", "path": "labels.txt"})
    assert (has_failed, "more than the" in text) == (True, True)


def test_the_command_names_the_extra_that_it_needs(monkeypatch):
    from hub.cli import command, mcp_server

    monkeypatch.setitem(__import__("sys").modules, "mcp", None)
    with pytest.raises(problems.LibraryMissing, match=r"pip install 'onnx-hub\[mcp\]'"):
        mcp_server._serve(type("Options", (), {"write": False}))
    assert command.main(["mcp"]) == 1
    assert api.default_hub()
