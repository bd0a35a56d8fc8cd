"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

import hub.server.celery  # noqa: F401 - hints go to the broker of this application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")
_django = get_wsgi_application()

from hub.server.public_files import PublicFiles  # noqa: E402 - models must be loaded first
from registry.core import usage  # noqa: E402

application = PublicFiles(_django)
usage.notes.start()
