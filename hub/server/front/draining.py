"""Whether this web process is ending: it still answers, and takes no new clients soon."""

from __future__ import annotations

import threading

_ending = threading.Event()
# From now on ``/readyz`` answers 503.
begin = _ending.set
# Whether this process is ending.
has_begun = _ending.is_set
