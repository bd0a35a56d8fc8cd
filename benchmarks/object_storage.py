"""Uploads and downloads of a hub whose storage is a bucket, with the gateway's own.

A Ceph cluster of one machine is started for it. curl sends and fetches one file: to and from the
gateway by signed addresses, through the hub, and at the addresses of the bucket that the hub gives.
Each run does all of these in turn with another file; the medians of the runs' ratios count.

    python benchmarks/object_storage.py                     # 1 GB, three runs
    python benchmarks/object_storage.py --megabytes 200
    python benchmarks/object_storage.py --tls               # the gateway speaks TLS
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from tests import ceph  # noqa: E402
from tests.faults.conftest import Hub  # noqa: E402

if TYPE_CHECKING:
    from registry.storage.s3.bucket import Bucket

DRAFT = "models/zoo/transferred/versions/1"
ROWS = (
    "upload through the hub",
    "upload to the bucket",
    "download by redirect",
    "download through the hub",
)


def curl(*words: str) -> float:
    """Run curl, which must succeed; returns its seconds."""
    start = time.perf_counter()
    subprocess.run(["curl", "-sSf", "-o", "/dev/null", *words], check=True)
    return time.perf_counter() - start


def signed(bucket: Bucket, method: str, key: str) -> str:
    """An address of the gateway for one object."""
    client: Any = bucket._client  # noqa: SLF001
    named = {"Bucket": bucket.name, "Key": key}
    return str(client.generate_presigned_url(method, Params=named, ExpiresIn=3600))


def upload(hub: Hub, file: Path, sha256: str, *, is_direct: bool = False) -> float:
    """Send a file to the hub, or to the bucket for it; returns the seconds of all requests."""
    start = time.perf_counter()
    claim = base64.b64encode(sha256.encode()).decode()
    status, headers, _ = hub.call(
        "POST", "uploads", b"", Tus_Resumable="1.0.0", Upload_Length=str(file.stat().st_size),
        Upload_Metadata=f"sha256 {claim}",
    )  # fmt: skip
    assert status == 201, status
    body, offset = ["-T", str(file)], 0
    if is_direct:
        curl(*body, "-H", f"X-Amz-Content-SHA256: {sha256}", "-H", "Expect:",
             headers["Hub-Direct-Upload"])  # fmt: skip
        body, offset = ["-d", ""], file.stat().st_size
    curl(
        "-X", "PATCH", *body, "-H", f"Authorization: Bearer {hub.token}",
        "-H", "Tus-Resumable: 1.0.0", "-H", f"Upload-Offset: {offset}",
        "-H", "Content-Type: application/offset+octet-stream", "-H", "Expect:",
        headers["Location"],
    )  # fmt: skip
    return time.perf_counter() - start


def download(hub: Hub, name: str, *headers: str) -> float:
    """Fetch a file of the draft, wherever the hub sends curl; returns the seconds."""
    address = f"{hub.address}/api/v1/{DRAFT}/files/{name}"
    words = [word for header in headers for word in ("-H", header)]
    return curl("-L", "-H", f"Authorization: Bearer {hub.token}", *words, address)


def run(hub: Hub, bucket: Bucket, folder: Path, megabytes: int) -> dict[str, float]:
    """One run with a new file; returns the ratio of throughputs for each row."""
    file = folder / "file"
    hasher = hashlib.sha256()
    with file.open("wb") as writer:
        for _ in range(megabytes):
            piece = os.urandom(1_000_000)
            hasher.update(piece)
            writer.write(piece)
    sha256, key = hasher.hexdigest(), uuid.uuid4().hex
    up = curl("-T", str(file), "-H", "Expect:", signed(bucket, "put_object", key))
    direct_up = upload(hub, file, sha256, is_direct=True)
    hub_up = upload(hub, file, sha256)
    status, _, answer = hub.call("PUT", f"{DRAFT}/files/{key}", {"blob": f"sha256:{sha256}"})
    assert status == 201, answer
    down = curl(signed(bucket, "get_object", key))
    redirected = download(hub, key)
    # The bucket does not know the hub's tags, so such a request is not redirected.
    through = download(hub, key, "Range: bytes=0-", 'If-Range: "other"')
    print(
        f"  gateway up {megabytes / up:.0f} MB/s, down {megabytes / down:.0f} MB/s; hub up "
        f"{megabytes / hub_up:.0f}, to the bucket {megabytes / direct_up:.0f}, "
        f"by redirect {megabytes / redirected:.0f}, through "
        f"{megabytes / through:.0f}",
        flush=True,
    )
    ratios = (up / hub_up, up / direct_up, down / redirected, down / through)
    return dict(zip(ROWS, ratios, strict=True))


def main() -> None:
    """Start everything, and print the ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=1000)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--tls", action="store_true")
    arguments = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hub-object-storage-"))
    # Two copies of each file, and what the cluster frees only later.
    disk_bytes = (4 * arguments.runs * arguments.megabytes + 4_000) * 10**6
    cluster = ceph.Ceph(folder / "ceph", disk_bytes)
    hub: Hub | None = None
    try:
        cluster.start()
        environment = cluster.tls_environment if arguments.tls else cluster.environment
        os.environ.update(environment)
        os.environ["CURL_CA_BUNDLE"] = str(folder / "ceph" / "certificate.pem")
        from registry.storage.s3.bucket import Bucket

        bucket = Bucket(ceph.BUCKET, "")
        client: Any = bucket._client  # noqa: SLF001
        client.create_bucket(Bucket=ceph.BUCKET)
        storage = {
            "HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/hub",
            "HUB_STORAGE_REDIRECT": "true",
            "HUB_STORAGE_DIRECT_UPLOADS": "true",
        }
        hub = Hub(folder / "home", **environment, **storage)
        hub.call("POST", "models", {"namespace": "zoo", "name": "transferred"})
        hub.call("POST", "models/zoo/transferred/versions", {})
        runs = [run(hub, bucket, folder, arguments.megabytes) for _ in range(arguments.runs)]
    finally:
        if hub is not None:
            hub.stop()
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for row in ROWS:
        print(f"{row}: {statistics.median(one[row] for one in runs):.2f} of the gateway's own")


if __name__ == "__main__":
    main()
