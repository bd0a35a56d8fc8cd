"""`python -m metadata.shapes`: the fork server, started by `metadata.shapes.validator` only."""

from __future__ import annotations

from metadata.shapes.server import serve

if __name__ == "__main__":
    serve()
