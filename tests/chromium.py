"""Where Debian's Chromium is; HUB_CHROMIUM names another one."""

from __future__ import annotations

import os
import shutil


def path():
    """The browser to start, or None where none is installed.

    Both names are built from one source; the shell has no window of its own to draw.
    """
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    return os.environ.get("HUB_CHROMIUM") or found
