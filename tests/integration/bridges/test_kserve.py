"""KServe's storage initializer, which downloads by the Hub protocol."""

from __future__ import annotations

from tests.integration.bridges.conftest import CONTENTS
from tests.integration.environments import python_with

KSERVE = """
import sys
from kserve_storage import Storage
Storage.download(sys.argv[1], sys.argv[2])
"""


def test_kserve_downloads_by_the_hub_protocol(hub, run, tmp_path):
    python = python_with("kserve", "kserve-storage")
    for name, token in (("net", ""), ("hidden", hub.token)):
        given = {"HF_ENDPOINT": hub.address, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "hf")}
        run(python, "-c", KSERVE, f"hf://zoo/{name}:v1", tmp_path / name, **given)
        for path, content in CONTENTS.items():
            assert (tmp_path / name / path).read_bytes() == content
