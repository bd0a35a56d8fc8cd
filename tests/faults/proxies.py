"""The composition's proxy, run with the configuration that is shipped."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

CADDYFILE = Path(__file__).parents[2] / "docker" / "Caddyfile"


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


@contextlib.contextmanager
def caddy(upstream, folder):
    """Caddy with docker/Caddyfile, without TLS, in front of the port ``upstream``; its port."""
    port = free_port()
    environment = os.environ | {
        "HUB_DOMAIN": f"http://127.0.0.1:{port}",
        "HUB_WEB": f"127.0.0.1:{upstream}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    log = (Path(folder) / "caddy.log").open("w")
    with log:
        process = subprocess.Popen(
            [shutil.which("caddy"), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    raise RuntimeError((Path(folder) / "caddy.log").read_text()) from None
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)
