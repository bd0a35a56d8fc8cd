"""The client of this hub as a wheel (PEP 427), which pip installs without an index that has it.

It has the packages of the hub's own distribution that need no server, of the same version: the
client, its command, and the engine, which `hub bench` and `hub training simulate` use.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, HttpRequest
from django.urls import reverse
from django.views.decorators.http import require_safe

import runners
from hub.protocol import version
from registry.api.guests import for_guests

NAME = f"onnx_hub-{version.__version__}-py3-none-any.whl"
_DISTRIBUTION = "onnx-hub"
_INFO = f"onnx_hub-{version.__version__}.dist-info"
# What puts the rooms on the path, and what of them the client needs.
_SERVER = "server/__init__.py"
_ENGINE = ("engine/**/*", "sandbox/**/*", "sandbox.py")
_WHEEL = "Wheel-Version: 1.0\nGenerator: onnx-hub\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def requirement(extra: str = "") -> str:
    """What pip installs from this hub (PEP 508): the client, perhaps with an extra."""
    extras = f"[{extra}]" if extra else ""
    return f"{_DISTRIBUTION}{extras} @ {settings.HUB_PUBLIC_URL}{reverse('client')}"


@for_guests
@require_safe
def show(_request: HttpRequest) -> FileResponse:
    content = io.BytesIO(_wheel())
    return FileResponse(content, as_attachment=True, filename=NAME, content_type="application/zip")


@cache
def _wheel() -> bytes:
    content = io.BytesIO()
    record = []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in _parts():
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(part).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(part)}\n")
        name = f"{_INFO}/RECORD"
        archive.writestr(zipfile.ZipInfo(name), f"{''.join(record)}{name},,\n")
    return content.getvalue()


def _parts() -> Iterator[tuple[str, bytes]]:
    """The files of the wheel by their names."""
    names: dict[str, Path] = {}
    package = Path(version.__file__).parents[1]
    root = package.parent
    for path in [*package.rglob("*"), *(root / "onnx_hub").rglob("*"), package / _SERVER]:
        if not path.is_relative_to(package / "server") or path == package / _SERVER:
            names[path.relative_to(root).as_posix()] = path
    rooms = Path(runners.__file__).parent
    for path in [rooms / "__init__.py", *(p for name in _ENGINE for p in rooms.glob(name))]:
        names[f"hub/server/apps/runners/{path.relative_to(rooms).as_posix()}"] = path
    for name, path in sorted(names.items()):
        if path.is_file() and path.suffix != ".pyc":
            yield name, path.read_bytes()
    yield "onnx_hub_command.py", (root / "onnx_hub_command.py").read_bytes()
    installed = distribution(_DISTRIBUTION)
    for name in ("METADATA", "entry_points.txt"):
        yield f"{_INFO}/{name}", (installed.read_text(name) or "").encode()
    yield f"{_INFO}/WHEEL", _WHEEL.encode()
