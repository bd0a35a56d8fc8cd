"""The Django project. In a wheel the rooms lie in ``apps/``; here they are put on the path."""

from __future__ import annotations

import sys
from pathlib import Path

_APPS = Path(__file__).parent / "apps"
if _APPS.is_dir() and str(_APPS) not in sys.path:
    sys.path.insert(0, str(_APPS))
