"""`import hub` costs the standard library and nothing more, and a worker loads no pages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ["urllib3", "onnx", "onnxruntime", "numpy", "django", "tqdm", "requests", "rest_framework"]


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("statement", ["import hub", "import hub.cli, hub.errors"])
def test_import_is_light(statement):
    found = modules_after(statement)
    assert [name for name in HEAVY if name in found] == []
    ours = {name for name in found if name.split(".")[0] == "hub"}
    assert not any(name.startswith("hub.server") for name in ours)
    third_party = {
        name.split(".")[0]
        for name in found - modules_after("pass")
        if name.split(".")[0] not in sys.stdlib_module_names
    }
    assert third_party == {"hub"}


def test_protocol_needs_the_standard_library_alone():
    code = "import hub.protocol.refs, hub.protocol.manifests, hub.protocol.problems"
    found = modules_after(code) - modules_after("pass")
    roots = {name.split(".")[0] for name in found}
    assert roots - set(sys.stdlib_module_names) == {"hub"}


WORKER = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
from django.core.management import execute_from_command_line
try:
    execute_from_command_line(["hub", "work", "--pool", "nonsense"])
except SystemExit as end:
    assert end.code == 1
"""


def test_a_worker_imports_no_addresses_and_no_views():
    found = modules_after(WORKER)
    assert "runners.workers.worker" in found
    # What writes the OpenAPI document, and imports REST framework's test client.
    unneeded = {"hub.server.urls", "frontend.urls", "drf_spectacular.plumbing"}
    assert unneeded & found == set()


def test_an_engine_starts_in_an_environment_without_onnx_runtime():
    """As that of a worker of OpenVINO, where `hub worker --runtime` installs no other runtime."""
    code = "import sys; sys.modules['onnxruntime'] = None; import runners.engine.__main__"
    assert "runners.engine.server.tasks" in modules_after(code)
