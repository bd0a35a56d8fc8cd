"""Installs a bundle, starts its hub, publishes and loads a model: offline.py BUNDLE FOLDER

Runs in a network of its own that has nothing but a loopback device.
"""

import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

bundle, folder = map(Path, sys.argv[1:])
python = folder / "hub/bin/python"

if sys.executable != str(python):
    with socket.socket() as device:
        set_flags, up = 0x8914, 1  # SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(device, set_flags, struct.pack("16sh22x", b"lo", up))
        assert device.connect_ex(("192.0.2.1", 443)) == errno.ENETUNREACH
    checksums = ["sha256sum", "--quiet", "--check", "SHA256SUMS"]
    subprocess.run(checksums, cwd=bundle, check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "hub"], check=True)
    install = [python, "-m", "pip", "--isolated", "install", "--quiet", "--no-index"]
    locked = ["--find-links", "wheels", "--require-hashes", "-r", "worker-cpu.lock"]
    own = next(bundle.glob("wheels/onnx_hub-*.whl"))
    for packages in (locked, ["--no-deps", own]):
        subprocess.run([*install, *packages], cwd=bundle, check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    os.execv(python, [str(python), *sys.argv])  # noqa: S606 - no shell is needed

import onnx  # noqa: E402 - of the bundle

from hub.client.hub import Hub  # noqa: E402

home = folder / "home"
command = [python, "-m", "hub"]
serve = [*command, "serve", "--no-samples", "--workers", "1", "--port", "0", "--home", home]
with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
    address = next(line for line in server.stdout if line.startswith("address: ")).split()[1]
    token = subprocess.run(
        [*command, "token", "create", "--user", "admin", "--scope", "admin", "--home", home],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    client = Hub(address, token=token, cache=folder / "cache")
    version = client.push("zoo/net", folder / "model.onnx", progress=False)
    loaded = Hub(address, cache=folder / "other").load("zoo/net", progress=False)
    first, second = (
        model.SerializeToString(deterministic=True)
        for model in (loaded, onnx.load(folder / "model.onnx"))
    )
    same = first == second
    sys.stdout.write(
        f"version: {version['state']} {'equal' if same else 'other'} {onnx.__file__}\n"
    )
    server.terminate()
