"""Pulls by tools of the OCI world: skopeo, oras and the client of ModelPack."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest

from tests.integration.bridges.conftest import CONTENTS
from tests.integration.environments import python_with

ORAS = """
import sys
from oras.provider import Registry

address, folder, token, name = sys.argv[1:]
registry = Registry(hostname=address, insecure=True)
if token:
    registry.login(hostname=address, username="any", password=token, tls_verify=False)
print(sorted(registry.get_tags(f"{address}/{name}")))
for path in registry.pull(target=f"{address}/{name}:1", outdir=folder):
    print(path)
"""
MODELPACK = """
import sys
from modelpack_client import ModelPackClient

address, folder, token, name = sys.argv[1:]
client = ModelPackClient(insecure=True)
if token:
    client.login(address, username="any", password=token)
result = client.pull(f"{address}/{name}:1", folder)
print(result)
"""


@pytest.fixture
def address(hub):
    return hub.address.removeprefix("http://")


@pytest.fixture(scope="session")
def python():
    return python_with("oci", "oras", "modelpack-client")


def check(folder):
    for path, content in CONTENTS.items():
        assert (folder / path).read_bytes() == content


@pytest.mark.parametrize("program", [ORAS, MODELPACK], ids=["oras", "modelpack"])
def test_python_clients_pull_public_and_private_models(
    hub, address, python, run, tmp_path, program
):
    for name, token in (("net", ""), ("hidden", hub.token)):
        folder = tmp_path / name
        folder.mkdir()
        run(python, "-c", program, address, folder, token, f"zoo/{name}")
        check(folder)


def test_skopeo_inspects_and_copies(hub, address, run, tmp_path):
    skopeo = shutil.which("skopeo")
    if skopeo is None:
        pytest.skip("skopeo is not installed here")
    place = f"docker://{address}/zoo/net"
    manifest = run(skopeo, "inspect", "--raw", "--tls-verify=false", f"{place}:1")
    digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
    tags = json.loads(run(skopeo, "list-tags", "--tls-verify=false", place))
    assert tags["Tags"] == ["1", "champion", "latest"]
    run(
        skopeo, "--insecure-policy", "copy", "--src-tls-verify=false", f"{place}@{digest}",
        f"dir:{tmp_path}/copy",
    )  # fmt: skip
    for content in CONTENTS.values():
        assert (tmp_path / "copy" / hashlib.sha256(content).hexdigest()).read_bytes() == content
    run(
        skopeo, "--insecure-policy", "copy", "--src-tls-verify=false", "--src-creds",
        f"any:{hub.token}", f"docker://{address}/zoo/hidden:1", f"dir:{tmp_path}/hidden",
    )  # fmt: skip
    with pytest.raises(AssertionError, match=r"nauthorized|no model"):
        run(skopeo, "inspect", "--tls-verify=false", f"docker://{address}/zoo/hidden:1")
