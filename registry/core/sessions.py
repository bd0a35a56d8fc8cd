"""What happens to sessions of the web, for those that keep more about them."""

from __future__ import annotations

from django.dispatch import Signal

# A session moved to another key: `old` and `new`.
key_changed = Signal()
