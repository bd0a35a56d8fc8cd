"""How quick a hub stays beside slow clients: slow bodies, slow readers and idle connections.

Prints the 95th percentile of /healthz and /models without them and beside them, in milliseconds,
for `hub serve` alone and, where Caddy is installed, behind docker/Caddyfile.

    python benchmarks/slow_clients.py                     # 200, 200 and 10,000
    python benchmarks/slow_clients.py --bodies 40 --readers 0 --idle 0
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.faults.conftest import Hub  # noqa: E402
from tests.faults.proxies import caddy  # noqa: E402
from tests.slow_clients import SlowClients, latencies, p95  # noqa: E402


def measure(name: str, port: int, path: str, token: str, crowd: dict[str, int]) -> None:
    """One line for each kind of crowd, and one for all together."""
    headers = f"Authorization: Bearer {token}\r\n"
    crowds = [{}, *({kind: count} for kind, count in crowd.items() if count), crowd]
    for each in crowds:
        label = ", ".join(f"{count} {kind}" for kind, count in each.items()) or "nobody else"
        clients = SlowClients(port, path=path, headers=headers, host="127.0.0.1", **each)
        try:
            with clients:
                figures = [
                    f"{page} {1000 * p95(latencies(port, page, host='127.0.0.1')):.0f} ms"
                    for page in ("/healthz", "/models")
                ]
                print(f"{name}: {label}: p95 {', '.join(figures)}; open {clients.open()}")
        except (OSError, TimeoutError) as error:
            print(f"{name}: {label}: {type(error).__name__} {error}")


def main() -> None:
    """Start a hub with one large file, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--idle", type=int, default=10_000)
    args = parser.parse_args()
    crowd = vars(args)
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(Path(folder) / "home", options=["--no-worker"], HUB_PROXIES="0")
        try:
            path = f"/api/v1/{hub.draft('large', os.urandom(2**26))}/files/model.onnx"
            measure("hub serve", hub.port, path, hub.token, crowd)
            if shutil.which("caddy"):
                with caddy(hub.port, Path(folder)) as port:
                    measure("behind Caddy", port, path, hub.token, crowd)
        finally:
            hub.stop()


if __name__ == "__main__":
    main()
