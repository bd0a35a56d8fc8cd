"""Pages that never change, remembered by a web process while there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable


class Memory:
    """Texts by key, up to a number of characters together; those not used for longest go first."""

    def __init__(self, most_characters: int) -> None:
        self._left = most_characters
        self._texts: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> str | None:
        with self._lock:
            text = self._texts.get(key)
            if text is not None:
                self._texts.move_to_end(key)
            return text

    def put(self, key: Hashable, text: str) -> None:
        with self._lock:
            self._left += len(self._texts.pop(key, ""))
            self._texts[key] = text
            self._left -= len(text)
            while self._left < 0:
                _, gone = self._texts.popitem(last=False)
                self._left += len(gone)
