"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import threading

from django.core.wsgi import get_wsgi_application

import hub.server.celery  # noqa: F401 - hints go to the broker of this application
from hub.server import start

_django = get_wsgi_application()
if start.is_first():
    # A backend that does not answer must not hold up the others.
    threading.Thread(target=start.warn, name="start-warnings", daemon=True).start()

from django.db import connection  # noqa: E402

from hub.server.public_files import PublicFiles  # noqa: E402 - models must be loaded first
from registry.core import usage, waiting  # noqa: E402

application = PublicFiles(_django)
waiting.limit_process(waiting.WRITE_SECONDS)
if connection.vendor == "postgresql":
    from hub.server import postgres_waits

    postgres_waits.install()
usage.notes.start()
