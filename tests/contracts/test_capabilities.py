"""The core starts without any capability, and nothing of it imports one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hub.protocol.capabilities import CAPABILITIES, offered

ROOT = Path(__file__).parents[2]
CORE = """
import json, sys
import django
django.setup()
from django.core.management import get_commands
from django.urls import get_resolver
import hub.client.api, hub.cli.commands
get_resolver().url_patterns, get_commands()
print(json.dumps(sorted(sys.modules)))
"""


def protected():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = [each for each in settings["contracts"] if each["type"] == "protected"]
    return tuple(contract["protected_modules"])


def test_every_capability_is_in_the_contract():
    packages = {
        package
        for capability in CAPABILITIES.values()
        for package in (
            *capability.apps,
            *capability.client,
            *capability.tables,
            *(module.rpartition(".")[0] for module in capability.engine),
        )
    }
    assert packages - set(protected()) == set()


def test_the_core_alone_imports_no_capability():
    environment = os.environ | {"HUB_CAPABILITIES": "", "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "-c", CORE]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    modules = json.loads(done.stdout)
    assert "registry.protocols.huggingface.urls" in modules
    inside = tuple(f"{package}." for package in protected())
    tables = [table for capability in CAPABILITIES.values() for table in capability.tables]
    # What tables are made of, and what their rows hold.
    parts = ("apps", "holding", "models", "schedule", "scores", "signature_models")
    kept = tuple(f"{table}.{part}." for table in tables for part in parts)
    found = [name for name in modules if f"{name}.".startswith(inside) and name not in tables]
    assert [name for name in found if not f"{name}.".startswith(kept)] == []


def test_an_unknown_name_is_refused_with_those_that_are_known():
    assert list(offered(["oci", "git"])) == ["git", "oci"]
    with pytest.raises(ValueError, match=r"unknown capability gut, mirror\. Known: git, oci, "):
        offered(["git", "mirror", "gut"])
