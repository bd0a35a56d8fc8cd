"""The runtime that runs models in a reader's browser: onnxruntime-web, served by the hub itself.

Its files are too large for version control: `manage.py fetch_browser_runtime` unpacks them from the
pinned archive, into the home folder or into the package, so that a wheel carries them. Absent,
pages say so and offer the run on the server alone.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders

from hub.protocol.runtime_builds import BROWSER

PACKAGE, VERSION = BROWSER.package, BROWSER.version
INTEGRITY = (
    "sha512-"
    "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
)
ENTRY = "ort.wasm.min.mjs"
# Name in the archive's `package/dist` -> SHA-256 of the file.
FILES = {
    ENTRY: "219e6a1fc8a9938268d18efca3c91d310bd2f4a59bbd13744df5b2b7fc6cee3b",
    "ort-wasm-simd-threaded.mjs": (
        "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b"
    ),
    "ort-wasm-simd-threaded.wasm": (
        "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2"
    ),
}
# The page's own worker: it has to come with the headers of the runtime's files.
WORKER = "worker.js"
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}
# As the page has it: a worker has the policy of its own file.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'"
)
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_FETCH_SECONDS = 600
# zlib.constants.BROTLI_PARAM_QUALITY is 1; brotli at its best takes a minute, once.
_BROTLI = (
    "const z=require('zlib'),f=require('fs');const [,a,b]=process.argv;"
    "f.writeFileSync(b,z.brotliCompressSync(f.readFileSync(a),{params:{1:11}}));"
)


class WrongArchiveError(ValueError):
    """The archive is not the pinned one, or a file in it is not; nothing was unpacked."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One file as it goes out: its bytes' place, how they are packed, and what names them."""

    path: Path
    type: str
    encoding: str
    etag: str


# What a wheel carries, and `scripts/serve` fetches once for a checkout.
PACKAGED = Path(__file__).resolve().parent.parent / "browser-runtime"


def home() -> Path:
    """The folder of an administrator's own copy, which goes before the one of the package."""
    return Path(settings.HUB_HOME) / "browser-runtime" / VERSION


def folder() -> Path:
    """Where the files lie; there may be none."""
    packaged = PACKAGED / VERSION
    return packaged if packaged.is_dir() and not home().is_dir() else home()


def is_here() -> bool:
    """Whether every file is there."""
    return all((folder() / name).is_file() for name in FILES)


def weight() -> int:
    """What a browser loads once, in bytes as they go over the line."""
    return sum(find(name, "br, gzip").path.stat().st_size for name in FILES)


def find(name: str, accepted: str) -> Sent:
    """A file of the runtime for a browser that accepts these encodings; raises KeyError."""
    kind = TYPES.get(Path(name).suffix, "")
    if name == WORKER:
        place = finders.find("frontend/try-worker.js")
        if not isinstance(place, str):
            raise KeyError(name)
        path = Path(place)
        return Sent(path, kind, "", f'"{_digest(path, path.stat().st_mtime_ns)[:32]}"')
    if name not in FILES or not (folder() / name).is_file():
        raise KeyError(name)
    offers = {part.split(";")[0].strip() for part in accepted.split(",")}
    for encoding, ending in _ENCODINGS:
        packed = folder() / f"{name}{ending}"
        if encoding in offers and packed.is_file():
            return Sent(packed, kind, encoding, f'"{FILES[name][:32]}-{encoding}"')
    return Sent(folder() / name, kind, "", f'"{FILES[name][:32]}"')


@lru_cache(maxsize=4)
def _digest(path: Path, _changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(place: Path) -> Path:
    """Have npm fetch the pinned archive into a new folder in ``place``; gives the archive.

    Raises FileNotFoundError where npm is not installed, OSError where it fails.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed here")
    place.mkdir(parents=True, exist_ok=True)
    target = Path(tempfile.mkdtemp(prefix="browser-runtime-", dir=place))
    ended = subprocess.run(
        [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent"],
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
        timeout=_FETCH_SECONDS,
    )
    archive = next(target.glob("*.tgz"), None)
    if ended.returncode or archive is None:
        shutil.rmtree(target, ignore_errors=True)
        raise OSError(f"npm pack failed: {ended.stderr.strip()[-500:] or ended.returncode}")
    return archive


def unpack(archive: Path, place: Path) -> Iterator[str]:
    """Check an archive, and make ``place`` of its files and packed copies of them; tells each step.

    Raises WrongArchiveError before anything is written.
    """
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != INTEGRITY:
        raise WrongArchiveError(f"{archive.name} is not the archive of {PACKAGE} {VERSION}.")
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{VERSION}-", dir=place.parent))
    try:
        with tarfile.open(archive) as tar:
            for name, sha256 in FILES.items():
                content = _member(tar, f"package/dist/{name}", sha256)
                (temporary / name).write_bytes(content)
                (temporary / f"{name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
                yield f"{name}: {len(content)} bytes, {_brotli(temporary / name)}"
        temporary.chmod(0o755)
        if place.exists():
            place.rename(temporary / "before")
        temporary.rename(place)
        shutil.rmtree(place / "before", ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _member(tar: tarfile.TarFile, name: str, digest: str) -> bytes:
    file = tar.extractfile(name)
    content = file.read() if file else b""
    if hashlib.sha256(content).hexdigest() != digest:
        raise WrongArchiveError(f"{name} in the archive is not the pinned file.")
    return content


def _brotli(path: Path) -> str:
    """Pack a file with Node where there is one: a quarter less than gzip has to send."""
    node = shutil.which("node")
    packed = path.with_name(f"{path.name}.br")
    if node is None:
        return "gzip only, as Node is not installed"
    subprocess.run(
        [node, "-e", _BROTLI, str(path), str(packed)],
        check=True,
        timeout=_FETCH_SECONDS,
        env={"PATH": os.environ.get("PATH", "")},
    )
    return f"{packed.stat().st_size} bytes with brotli"
