"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

import hub.server.celery  # noqa: F401 - bells go to the broker of this application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")
application = get_wsgi_application()

from registry import usage  # noqa: E402 - models must be loaded first

usage.notes.start()
