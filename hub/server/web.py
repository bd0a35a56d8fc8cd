"""How gunicorn serves the hub, wherever it is started: `gunicorn --config python:hub.server.web`.

Workers, threads and the address are options of the command.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

wsgi_app = "hub.server.wsgi:application"
worker_class = "hub.server.front.worker.FrontWorker"
# Cut to half of the files that a process may have open.
worker_connections = 20_000
# The kernel cuts it to net.core.somaxconn.
backlog = 4096
timeout = 120
keepalive = 15
# A query in an address may be long.
limit_request_line = 8190
loglevel = "warning"
control_socket_disable = True
# gunicorn's heartbeat file must not wait for a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir()  # noqa: S108 - its own place
