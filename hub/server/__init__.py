"""The Django project. In a wheel the rooms lie in ``apps/``; here they are put on the path."""

from __future__ import annotations

import atexit
import gc
import sys
from pathlib import Path

import onnx_hub  # noqa: F401 - refuses where another project has damaged the package hub

_APPS = Path(__file__).parent / "apps"
if _APPS.is_dir() and str(_APPS) not in sys.path:
    sys.path.insert(0, str(_APPS))

# Nearly all that a process of the server makes while it loads stays until its end. Fewer searches
# for garbage while it does, and none in all of it when the interpreter ends, halve the processor
# time that a start and an end take.
gc.set_threshold(10_000)
atexit.register(gc.freeze)
