"""What schemathesis sends as the media types that only this hub has; it loads this as hooks."""

from __future__ import annotations

import schemathesis


@schemathesis.serializer("application/offset+octet-stream", "application/vnd.safetensors")
def raw(_, value):
    """The bytes as they are."""
    return value if isinstance(value, bytes) else str(value).encode()
