"""What published versions take in a PostgreSQL database: rows, bytes and statements of each.

Models with one version go their whole way through the services: files, checks, evidence of the
first checks, events, jobs, search documents and graphs, without reports on shapes. An empty
database is needed.

    DATABASE_URL=postgres://… python benchmarks/database_size.py --versions 500
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from operator import sub
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SIZES = """
    SELECT c.relname, pg_total_relation_size(c.oid), pg_indexes_size(c.oid), n_live_tup
    FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE relkind = 'r'
"""


def sizes() -> dict[str, tuple[int, int, int]]:
    """Bytes, bytes of indexes, and rows of each table."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL")
        cursor.execute("ANALYZE")
        cursor.execute(SIZES)
        return {name: (total, indexes, rows) for name, total, indexes, rows in cursor.fetchall()}


def main() -> None:
    """Publish the versions, and print what each table has grown by."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--versions", type=int, default=500)
    args = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "hub.server.settings"
    with tempfile.TemporaryDirectory() as home:
        os.environ["HUB_HOME"] = home
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from metadata.models import NamedGraph
        from tests import factories, samples, shared

        call_command("migrate", verbosity=0)
        # Shapes are asked in a process of their own, and leave one row at most.
        shared.pass_cards(pytest.MonkeyPatch())
        owner = factories.user("owner")
        factories.published(owner, factories.model(owner, "first"))
        before = sizes()
        used = time.process_time()
        for number in range(args.versions):
            content = samples.unlike_others(samples.mlp())
            model = factories.model(owner, f"net-{number}", summary="A model.")
            factories.published(owner, model, {"model.onnx": content})
        used = time.process_time() - used
        quads = sum(
            text.count("\n") for text in NamedGraph.objects.values_list("nquads", flat=True)
        )
        grown = {
            name: tuple(map(sub, after, before.get(name, (0, 0, 0))))
            for name, after in sizes().items()
        }
        connection.close()
    print(f"{'table':<36}{'bytes':>10}{'indexes':>10}{'rows':>8}   for each version")
    for name, row in sorted(grown.items(), key=lambda item: -item[1][0]):
        if row[0] >= args.versions:
            print(f"{name:<36}" + "".join(
                f"{value / args.versions:>{width}.1f}"
                for value, width in zip(row, (10, 10, 8), strict=True)
            ))  # fmt: skip
    total = sum(row[0] for row in grown.values()) / args.versions
    print(f"together {total:.0f} bytes, {quads / args.versions:.0f} statements, ", end="")
    print(f"{1000 * used / args.versions:.0f} ms of CPU time of the hub without checks")


if __name__ == "__main__":
    main()
