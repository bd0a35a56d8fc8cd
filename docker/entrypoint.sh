#!/bin/sh
# What a container does: setup, web, graphs, worker or beat, or says whether one of them lives, or waits
# for setup; anything else is run as it is.
set -eu

role="${1:-web}"
[ $# -eq 0 ] || shift

case "$role" in
    setup)
        # Once per release, before the others: the database, and the first administrator.
        python -m hub manage migrate --noinput
        python - <<'PY'
import django

django.setup()

from hub.server import first_run
from registry.models import User
from registry.people.services import users

if not User.objects.filter(is_superuser=True).exists():
    password = users.generate_password()
    first_run.make_admin(password, is_temporary=True)
    print(f"admin user: admin\nadmin password: {password}\n(shown once; change it at sign-in)", flush=True)
PY
        ;;
    wait-for-setup)
        # Until the database is that of this release; the old release continues to serve.
        python -m hub manage check > /dev/null
        until python -m hub manage migrate --check > /dev/null 2>&1; do sleep 2; done
        ;;
    web)
        # Static files belong to this image's release, so each container collects its own.
        python -m hub manage collectstatic --noinput --verbosity 0
        exec python -m gunicorn --config python:hub.server.web --bind "0.0.0.0:${PORT:-8000}" \
            --workers "${WEB_WORKERS:-2}" --threads "${WEB_THREADS:-16}" "$@"
        ;;
    worker)
        exec python -m celery -A hub.server.celery worker \
            -Q cpu.urgent,cpu,light --concurrency "${WORKER_CONCURRENCY:-2}" --loglevel warning \
            --without-gossip --without-mingle "$@"
        ;;
    beat)
        exec python -m celery -A hub.server.celery beat --pidfile= --loglevel warning "$@"
        ;;
    graphs)
        exec python -m hub.server.graphs "$@"
        ;;
    graphs-is-alive)
        # It touches a file every five seconds, however long the store takes to be made.
        find "$HUB_GRAPHS/alive" -mmin -5 | grep -q .
        ;;
    worker-is-alive)
        # Its main process gives signs of life however busy its pool is.
        exec python - <<'PY'
import socket
import sys

import django

django.setup()

from runners.queue import selectors

here = f"{socket.gethostname()}-"
sys.exit(not any(worker.name.startswith(here) for worker in selectors.live_workers()))
PY
        ;;
    beat-is-alive)
        # It writes its schedule down every three minutes.
        find "$HUB_HOME" -name 'celerybeat-schedule*' -mmin -10 | grep -q .
        ;;
    *)
        exec "$role" "$@"
        ;;
esac
