"""The product's settings with a throw-away home; nothing that is tested is switched off."""

import os
import tempfile

_home = tempfile.mkdtemp(prefix="hub-test-")
os.environ.setdefault("HUB_HOME", _home)
os.environ.setdefault("HUB_SECRET_KEY", "for-tests-only")
os.environ.setdefault("HUB_PUBLIC_URL", "http://testserver")

from hub.server.settings import *  # noqa: E402, F403

# Hashing passwords slowly is the library's business; tests only need it to be done.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Static names without hashes, since nothing is collected for a test.
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"  # noqa: F405
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # noqa: F405
# A command that a test calls sets Django up again while its standard error is replaced; a handler
# with that stream would fail in every later test.
LOGGING["handlers"]["stderr"]["stream"] = "ext://sys.__stderr__"  # noqa: F405
