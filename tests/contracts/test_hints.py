"""Commands and addresses that messages name: each exists, so that a hint leads somewhere."""

from __future__ import annotations

import ast
import itertools
import re
import uuid

import pytest
from django.urls import Resolver404, resolve

from tests.contracts.sources import nodes
from tests.contracts.test_documentation import ROOT, usage

PACKAGES = ("hub", "registry", "metadata", "runners", "frontend")
COMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )?hub ([a-z][^`]*)`")
ADDRESS = re.compile(r"/api/v1/[\w{}/.-]+[\w}]")
# Commands whose next word is a command of their own.
GROUPS = frozenset({"bench", "cache", "dataset", "import", "manage", "token"})
# What may stand in an address where a message puts a value.
VALUES = ("1", "x", "a/b", "a/b/versions/1", "0" * 64, str(uuid.UUID(int=4)))


def messages():
    """Every text of the code but docstrings, with {} for what is put in; and its file."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = nodes(path.read_text(encoding="utf-8"))
            documented = {
                id(node.body[0].value)
                for node in parts
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            inside = {
                id(part)
                for node in parts
                if isinstance(node, ast.JoinedStr)
                for part in node.values
            }
            for node in parts:
                if id(node) in documented or id(node) in inside:
                    continue
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path.relative_to(ROOT), node.value
                elif isinstance(node, ast.JoinedStr):
                    text = "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "{}"
                        for part in node.values
                    )
                    yield path.relative_to(ROOT), text


@pytest.fixture(scope="module")
def texts():
    """The messages; made once and late, as every process that collects tests imports this file."""
    return [text for _, text in messages()]


def test_every_command_that_is_named_exists(texts):
    commands = {command for text in texts for command in COMMAND.findall(text)}
    assert any(command.startswith("info ") for command in commands)
    assert {command: options for command in commands if (options := unknown(command))} == {}


def unknown(command):
    """The options that a command does not have; a command that is none fails by name."""
    words = command.split()
    depth = 2 if words[0] in GROUPS and len(words) > 1 and re.match(r"[a-z]", words[1]) else 1
    help_text = usage(" ".join(words[:depth]))
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [option for option in options if option not in help_text]


def test_every_address_that_is_named_exists(texts):
    addresses = {address for text in texts for address in ADDRESS.findall(text)}
    assert "/api/v1/models/{}/versions" in addresses
    assert [address for address in addresses if not is_there(address)] == []


def is_there(address):
    parts = address.split("{}")
    return any(leads(parts, values) for values in itertools.product(VALUES, repeat=len(parts) - 1))


def leads(parts, values):
    path = "".join(itertools.chain(*itertools.zip_longest(parts, values, fillvalue="")))
    try:
        resolve(path)
    except Resolver404:
        return False
    return True
