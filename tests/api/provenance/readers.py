"""A client of the hub under test: `import hub` over Django's test client, and thieves of rows."""

from __future__ import annotations

import io
import re
import threading
from contextlib import contextmanager

import urllib3
from django.db import connection, connections
from django.test import Client

from hub.client import log_heads, references
from hub.client.hub import Hub
from hub.client.transport import Transport
from registry.core import outbox
from registry.provenance.models import ATTESTING
from tests import shared

URL = "http://testserver"
SIGNATURES = "models/ada/net/versions/1/signatures"
SIGNERS = "namespaces/ada/signers"


class DjangoTransport(Transport):
    """Requests that the application answers without a network."""

    def __init__(self, config):
        super().__init__(config)
        # Files are fetched in threads, and the rows of a test are seen by its connection alone.
        self.connection = connections["default"]
        self.connection.inc_thread_sharing()
        self.lock = threading.Lock()

    @contextmanager
    def open(self, method, address, headers, body=None, silence_seconds=None):
        url = self.own(address)
        with self.lock:
            connections["default"] = self.connection
            if self.config.token:
                headers = headers | {"Authorization": f"Bearer {self.config.token}"}
            answer = Client().generic(
                method,
                url.removeprefix(URL),
                body or b"",
                content_type=headers.get("Content-Type", "application/octet-stream"),
                headers=headers,
            )
            content = answer.getvalue()
        response = urllib3.HTTPResponse(
            io.BytesIO(content),
            headers=dict(answer.headers),
            status=answer.status_code,
            preload_content=False,
        )
        if answer.status_code >= 400:
            raise self._problem(response, url)
        yield response, url


class Reader:
    """Somebody with a cache: loads references, verifies versions, and keeps heads."""

    def __init__(self, folder, **options):
        self.hub = Hub(URL, cache=folder, **options)
        self.hub.transport = self.hub.reads = DjangoTransport(self.hub.config)
        self.cache = self.hub.cache

    def resolve(self, ref):
        return references.resolve(self.hub.reads, self.cache, ref)

    @property
    def head(self):
        return log_heads.find(self.cache, URL)

    @property
    def size(self):
        return log_heads.size_of(self.head)


def steal(statement, *values):
    """Change rows as the owner of the database can, whatever the laws say."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")
        else:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
            for name, _ in triggers:
                cursor.execute(f"DROP TRIGGER {name}")
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute(statement, values)
        assert cursor.rowcount > 0, "nothing was stolen"
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")
        else:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")
            for _, sql in triggers:
                cursor.execute(sql, None)


def deliver():
    """Deliver what is due, as a commit does."""
    outbox.deliver()


def sign_no_results(patched):
    """Have no event make attestations, for tests that count records of the log."""
    shared.leave_out(patched, shared.View("attestations", (ATTESTING,), re.compile("$^")))
