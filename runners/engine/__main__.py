"""`python -s -P -m runners.engine WORKER_PID` starts the fork server on its standard streams."""

from __future__ import annotations

from runners.engine.server.server import serve

if __name__ == "__main__":
    serve()
