"""What the collector costs at a bucket: requests of a server that lists objects and counts."""

from __future__ import annotations

import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.utils import timezone

from registry.models import Blob
from registry.storage import files
from registry.storage.blob_store import key_of
from registry.storage.services import blobs

pytest.importorskip("botocore")
pytestmark = pytest.mark.django_db

BLOBS = 2_500
# Objects in one answer of a bucket.
PAGE = 1_000
ENTRY = (
    "<Contents><Key>{}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>"
)


class Listing(BaseHTTPRequestHandler):
    """Answers ListObjectsV2 of the keys of its server in pages, and HEAD."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        prefix = query.get("prefix", [""])[0]
        self.server.prefixes.append(prefix)
        keys = [key for key in self.server.keys if key.startswith(prefix)]
        start = int(query.get("continuation-token", ["0"])[0])
        page, more = keys[start : start + PAGE], len(keys) > start + PAGE
        token = f"<NextContinuationToken>{start + PAGE}</NextContinuationToken>" if more else ""
        entries = "".join(ENTRY.format(key) for key in page)
        self.answer(
            f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}"
            "</ListBucketResult>".encode()
        )

    def do_HEAD(self):
        self.server.heads += 1
        self.answer(b"", Last_Modified="Wed, 01 Jan 2020 00:00:00 GMT", ETag='"e"')

    def answer(self, content, **headers):
        self.send_response(200)
        for name, value in ({"Content_Length": str(len(content))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def bucket(monkeypatch, settings, tmp_path):
    """A bucket of many blobs, each with its row."""
    digests = sorted(sha256(str(number).encode()).hexdigest() for number in range(BLOBS))
    now = timezone.now()
    Blob.objects.bulk_create([Blob(sha256=each, size=1, touched_at=now) for each in digests])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listing)
    server.keys, server.prefixes, server.heads = [key_of(each) for each in digests], [], 0
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    settings.HUB_STORAGE_URL = "s3://models"
    settings.HUB_STORAGE_CACHE = tmp_path
    files.store_at.cache_clear()  # a store keeps the address of the server it first met
    yield server
    files.store_at.cache_clear()
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_collector_lists_a_bucket_once_where_there_is_nothing_to_do(bucket, capsys):
    call_command("collect_blobs")
    assert capsys.readouterr().out == "0 blobs freed, 0 orphans\n"
    assert bucket.prefixes.count("sha256/") == -(-BLOBS // PAGE)
    assert len(bucket.prefixes) <= -(-BLOBS // PAGE) + 2  # and the trash, before and after
    assert bucket.heads == 0


def test_an_orphan_is_found_wherever_it_lies_in_a_listing(bucket, monkeypatch):
    monkeypatch.setattr(blobs, "BATCH", 999)
    orphans = [Blob.objects.order_by("pk")[place].pk for place in (0, 998, 999, BLOBS - 1)]
    Blob.objects.filter(pk__in=orphans).delete()
    freed = []
    monkeypatch.setattr(blobs, "_free_orphan", lambda sha256: freed.append(sha256) or True)
    assert blobs.free_orphans([""]) == len(orphans)
    assert freed == orphans
