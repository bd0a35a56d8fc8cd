"""A full disk refuses by name, keeps what was acknowledged, and heals when there is room again."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import Hub

MEGABYTE = 1_000_000


def can_mount() -> bool:
    """Whether a small file system can be made here without being root outside."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        check=False,
        capture_output=True,
    )
    return tried.returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces to mount a small file system")
def test_a_full_disk(tmp_path):
    home = tmp_path / "small"
    home.mkdir()
    script = f'mount -t tmpfs -o size=42m tmpfs "{home}" && exec "$@"'
    hub = Hub(
        home,
        prefix=["unshare", "-rm", "sh", "-c", script, "sh"],
        HUB_LIMITS_FREE_BYTES=str(10 * MEGABYTE),
        HUB_TEMP=str(tmp_path / "temp"),  # bodies that wait take room, too
    )
    try:
        small = os.urandom(MEGABYTE)
        kept = hub.store(small)
        status, _, body = hub.call(
            "POST", "uploads", Tus_Resumable="1.0.0", Upload_Length=str(60 * MEGABYTE)
        )
        assert status == 507  # before any byte
        assert body["type"].endswith("/problems/storage-full")
        assert body["asked_bytes"] == 60 * MEGABYTE
        large = os.urandom(15 * MEGABYTE)
        path = hub.upload(large)
        # Something else fills the disk meanwhile, which the hub alone sees mounted.
        ballast = Path(f"/proc/{hub.process.pid}/root{home}/ballast")
        ballast.write_bytes(bytes(15 * MEGABYTE))
        status, _, body = hub.patch(path, 0, large)
        assert status == 507
        assert body["type"].endswith("/problems/storage-full")
        ballast.unlink()
        offset = int(hub.call("HEAD", path, Tus_Resumable="1.0.0")[1]["Upload-Offset"])
        assert 0 < offset < len(large)
        assert hub.patch(path, offset, large[offset:])[0] == 204
        assert kept == f"sha256:{hashlib.sha256(small).hexdigest()}"
        again = os.urandom(MEGABYTE)
        assert hub.store(again) == f"sha256:{hashlib.sha256(again).hexdigest()}"
    finally:
        hub.stop()
