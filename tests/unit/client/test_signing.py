"""Signing with keys of tokens (PKCS #11), as SoftHSM has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hub.client.signing import SigningKey
from hub.protocol.publishers import Bundle
from tests import signers

MODULES = [Path(f"/usr/lib/{folder}softhsm/libsofthsm2.so") for folder in ("", "x86_64-linux-gnu/")]
MODULE = next((path for path in MODULES if path.exists()), None)


@pytest.mark.skipif(
    MODULE is None or shutil.which("softhsm2-util") is None, reason="needs softhsm2"
)
def test_a_key_in_a_token_signs(tmp_path, monkeypatch):
    key, files = signers.key(tmp_path), {"model.onnx": "0" * 64}
    (tmp_path / "tokens").mkdir()
    (tmp_path / "conf").write_text(f"directories.tokendir = {tmp_path / 'tokens'}\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "conf"))
    token = ["--token", "zoo", "--label", "release", "--id", "01", "--pin", "5678"]
    for arguments in (
        ["--init-token", "--free", "--label", "zoo", "--so-pin", "1234", "--pin", "5678"],
        ["--import", str(key), *token],
    ):
        subprocess.run(["softhsm2-util", *arguments], check=True, capture_output=True)
    uri = f"pkcs11:token=zoo;object=release?module-path={MODULE}&pin-value=5678"
    signature = SigningKey(uri).sign(files, "zoo/net")
    bundle = Bundle.read(signature.bundle)
    assert bundle.verify(signature.public_key).key == signers.fingerprint(key)
    assert bundle.difference(files) == ""
