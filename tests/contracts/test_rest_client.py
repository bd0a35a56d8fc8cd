"""Every operation of docs/openapi.yaml has a function in Python and a command, and both work.

The examples of every command run against a server that speaks the document exactly; what they
reach is the coverage.
"""

from __future__ import annotations

import io
import json
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hub.cli import command, commands, parsing
from hub.cli.control import arguments
from hub.cli.control.verbs import Noun, Task, Verb
from hub.client.rest import answers
from hub.client.rest.groups import GROUPS, group_class
from scripts import rest
from scripts.rest_schemas import short
from tests import simulated
from tests.openapi_server import OpenApiServer, operations, sample

ROOT = Path(__file__).resolve().parents[2]


def declared():
    """Every declared command as (words, declaration)."""
    for section in commands.SECTIONS.values():
        for name, place in section.items():
            declaration = "control.datasets:VERBS" if name == "dataset" else place
            if not declaration.startswith("control."):
                continue
            module, _, attribute = declaration.partition(":")
            target = getattr(import_module(f"hub.cli.{module}"), attribute)
            target = Noun(name, "", target) if isinstance(target, tuple) else target
            if isinstance(target, Noun):
                yield from ((f"{name} {verb.name}", verb) for verb in target.verbs)
            else:
                yield name, target


DECLARED = dict(declared())
VERBS = {words: one for words, one in DECLARED.items() if isinstance(one, Verb)}
# They move files, whose digests random answers do not have: tests/integration/test_mirrors.py.
OF_FILES = frozenset({"mirror export", "mirror import"})
# They need a device that has enrolled with a key: tests/integration/test_control_plane.py.
OF_DEVICES = frozenset({"fleet pull", "fleet rotate"})
EXAMPLES = [
    (words, line)
    for words, one in DECLARED.items()
    if words not in OF_FILES | OF_DEVICES
    for line in one.examples
]


@pytest.fixture(scope="module")
def server():
    made = OpenApiServer()
    yield made
    made.close()


@pytest.fixture
def folder(monkeypatch, tmp_path, server):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUB_URL", server.url)
    monkeypatch.setenv("HUB_TOKEN", "hf_secret")
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("README.md", "emissions.csv", "key.pub", "ca.pem"):
        (tmp_path / name).write_text("text")
    simulated.write(tmp_path)
    (tmp_path / "record.json").write_text("{}")
    (tmp_path / "query.rq").write_text("SELECT ?a { ?a ?b ?c }")
    return tmp_path


def test_the_modules_are_those_of_the_document(tmp_path):
    rest.write(tmp_path)
    kept = {path.name: path.read_text() for path in (ROOT / "hub/client/rest").glob("*.py")}
    for name in rest.HAND_WRITTEN:
        kept.pop(name)
    written = {path.name: path.read_text() for path in tmp_path.glob("*.py")}
    assert sorted(written) == sorted(kept)
    for name, text in written.items():
        assert text == kept[name], f"{name}: run scripts/rest.py --write"


RELEASED = tomllib.loads(rest.RELEASED.read_text("utf-8"))
MODULES = [import_module(f"hub.client.rest.{name}") for name in (*GROUPS, "shared")]
ANSWERS = {
    name: getattr(module, short(name))
    for module in MODULES
    for name in RELEASED
    if short(name) in vars(module)
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_of_an_older_hub_are_read(name):
    answer = sample({"$ref": name}, released=RELEASED)
    complete = sample({"$ref": name})
    result = answers.plain(answers.read(ANSWERS[name], answer))
    for key in complete.keys() - answer.keys():
        assert result[key] in (None, []), key


def test_every_operation_is_a_method_or_omitted_with_a_reason():
    methods = set()
    for identifier, *_ in operations():
        if identifier in rest.OMITTED:
            continue
        group, method = rest.place(identifier)
        assert group in GROUPS
        assert callable(getattr(group_class(group), method))
        methods.add((group, method))
    assert rest.OMITTED.keys() <= {identifier for identifier, *_ in operations()}
    made = {
        (group, name)
        for group in GROUPS
        for name in vars(group_class(group))
        if not name.startswith("_")
    }
    assert made == methods


def test_every_method_has_a_command():
    methods = {".".join(rest.place(one)) for one, *_ in operations() if one not in rest.OMITTED}
    of_verbs = {name for verb in VERBS.values() for name in (verb.operation, verb.model_operation)}
    without = methods - of_verbs - OTHER_COMMANDS.keys()
    assert sorted(without) == []


# Operations whose command is no declaration: the command.
OTHER_COMMANDS = {
    "models.list": "search",
    "models.read": "info",
    "datasets.list": "dataset list",
    "datasets.read": "dataset show",
    "events.list": "events",
    "security_events.list": "security-events",
    "mirrors.import_version": "mirror import",
    "pools.drain": "pools drain",
    "starter.list": "import starter",
    "starter.read": "import starter",
    "starter.request_import": "import starter",
}


def test_the_other_commands_exist():
    leaves = {words for words, _ in parsing.leaves(parsing.parser())}
    assert set(OTHER_COMMANDS.values()) <= leaves


@pytest.mark.parametrize(("words", "line"), EXAMPLES, ids=lambda value: value)
def test_examples_run(server, folder, capsys, monkeypatch, words, line):
    if words == "token find":  # which reads a token; those of this server begin with `text`
        monkeypatch.setattr("sys.stdin", io.StringIO("text-1\ntext-1\n"))
    program, *arguments_ = shlex.split(line)
    assert program == "hub"
    assert line.startswith(f"hub {words}")
    server.requests.clear()
    server.faults.clear()
    assert command.main(arguments_) in {0, 1 if words == "jobs watch" else 0}, capsys.readouterr()
    assert server.faults == []
    capsys.readouterr()
    if words in VERBS:
        assert {VERBS[words].operation, VERBS[words].model_operation} & {
            ".".join(rest.place(one)) for one in server.requests if one not in rest.OMITTED
        }
    command.main([*arguments_, *([] if "--json" in arguments_ else ["--json"])])
    json.loads(capsys.readouterr().out)


def test_every_command_has_help_and_an_example():
    for words, leaf in parsing.leaves(parsing.parser()):
        if words.partition(" ")[0] in commands.OWN_PARSERS:
            continue
        assert f"hub {words}" in (leaf.epilog or "") or words == "completion", words
        for action in parsing.actions(leaf):
            assert action.help, (words, action.dest)


# Django reads the arguments of `manage`, and its usage is that of the maintenance command.
WITH_USAGE = [words for words, _ in parsing.leaves(parsing.parser()) if words != "manage"]


@pytest.mark.parametrize("words", WITH_USAGE)
def test_the_usage_of_an_error_is_that_of_its_verb(folder, capsys, words):
    for wrong in (["--no-such-option"], ["--json=1"]):
        with pytest.raises(SystemExit) as ended:
            command.main([*words.split(), *wrong])
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith(f"usage: hub {words} ")


def test_no_help_is_left_over():
    used = set()
    for verb in VERBS.values():
        for name, _, _ in verb._parameters:
            used.add(name)
    assert sorted(arguments.HELP.keys() - used) == []


@pytest.fixture(scope="module")
def parser():
    return parsing.parser()


@pytest.mark.parametrize("words", sorted(commands.EXAMPLES))
def test_examples_of_other_commands_are_parsed(parser, words):
    for line in commands.EXAMPLES[words]:
        if "--help" not in line:
            parser.parse_args(shlex.split(line.partition(" <")[0])[1:])


@pytest.mark.parametrize("words", sorted(words for words, verb in VERBS.items() if verb.question))
def test_what_cannot_be_undone_is_asked_for(server, folder, capsys, monkeypatch, words):
    line = next(line for line in VERBS[words].examples if "--yes" in line)
    server.requests.clear()
    arguments_ = [part for part in shlex.split(line)[1:] if part != "--yes"]
    assert command.main(arguments_) == 2
    assert "Pass --yes to confirm it." in capsys.readouterr().err
    methods = {one: method for one, method, *_ in operations()}
    assert {methods[one] for one in server.requests} <= {"GET"}


def test_tasks_are_commands():
    assert [words for words, one in DECLARED.items() if isinstance(one, Task)]
