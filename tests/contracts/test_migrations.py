"""A new database is made in one step for each app, and equals the one that every step makes."""

import json
import os
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pytest

from tests.integration.conftest import execute

pytestmark = pytest.mark.live
ROOT = Path(__file__).parents[2]
SCHEMA = """
import django, json, sys
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

def parts(sql):
    "The columns and constraints of a CREATE TABLE, whatever their order."
    depth, part, whole = 0, "", []
    for letter in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            whole.append(part.strip())
            part = ""
        else:
            part += letter
    return sorted([*whole, part.strip()])

def rows(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()

def schema():
    if connection.vendor == "sqlite":
        return {
            f"{kind} {name}": parts(sql) if kind == "table" and "VIRTUAL" not in sql else sql
            for kind, name, sql in rows("SELECT type, name, sql FROM sqlite_master WHERE sql <> ''")
        }
    return {
        "columns": sorted(rows(
            "SELECT table_name, column_name, data_type, is_nullable, column_default, "
            "generation_expression, character_maximum_length "
            "FROM information_schema.columns WHERE table_schema = 'public'")),
        "storage": sorted(rows(
            "SELECT attrelid::regclass::text, attname, attstorage::text FROM pg_attribute JOIN "
            "pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace "
            "AND relkind = 'r' AND attnum > 0 AND NOT attisdropped")),
        "constraints": sorted(rows(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE connamespace = 'public'::regnamespace")),
        "indexes": sorted(rows("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")),
        "triggers": sorted(rows(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal")),
        "functions": sorted(rows(
            "SELECT pg_get_functiondef(oid) FROM pg_proc "
            "WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'")),
    }

class Steps(MigrationLoader):
    def load_disk(self):
        super().load_disk()
        self.disk_migrations = {
            key: each for key, each in self.disk_migrations.items() if not each.replaces
        }

def migrate(loader):
    executor = MigrationExecutor(connection)
    executor.loader = loader(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    executor.migrate(executor.loader.graph.leaf_nodes(), plan)
    return len(plan)

if sys.argv[1] == "squashed":
    done = [migrate(MigrationLoader)]
else:  # what an older hub has, and what its next upgrade does
    done = [migrate(Steps), migrate(MigrationLoader)]
print(json.dumps({"migrations": done, "schema": schema()}, sort_keys=True, default=str))
"""


def migrated(address, home, how):
    """The schema of a new database, and how many migrations each run of them did."""
    names = {"DJANGO_SETTINGS_MODULE": "tests.settings", "HUB_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCHEMA, how],
        cwd=ROOT, env=os.environ | names | {"DATABASE_URL": address}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(params=["sqlite", "postgresql"])
def addresses(request, tmp_path):
    """Two new databases of an engine."""
    names = [f"hub_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    if request.param == "sqlite":
        yield [f"sqlite:///{tmp_path / name}.sqlite3" for name in names]
        return
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    for name in names:
        execute(url, f"CREATE DATABASE {name}")
    yield [urlsplit(url)._replace(path=f"/{name}").geturl() for name in names]
    for name in names:
        execute(url, f"DROP DATABASE {name} WITH (FORCE)")


def test_the_squashed_migrations_make_the_schema_that_every_step_makes(addresses, tmp_path):
    squashed = migrated(addresses[0], tmp_path, "squashed")
    steps = migrated(addresses[1], tmp_path, "steps")
    assert squashed["schema"] == steps["schema"]
    assert squashed["migrations"][0] < steps["migrations"][0]
    assert steps["migrations"][1] == 0, "an older database has nothing left to do"


def test_a_role_that_may_create_no_extension_goes_without_trigrams(tmp_path):
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    name = f"hub_{uuid.uuid4().hex[:12]}"
    host = urlsplit(url).netloc.rpartition("@")[2]
    execute(url, f"CREATE ROLE {name} LOGIN")
    execute(url, f"CREATE DATABASE {name}")
    owned = urlsplit(url)._replace(path=f"/{name}").geturl()
    try:
        with closing(psycopg2.connect(owned)) as connection, connection, connection.cursor() as run:
            run.execute(f"GRANT ALL ON SCHEMA public TO {name}")
        schema = migrated(f"postgres://{name}@{host}/{name}", tmp_path, "squashed")["schema"]
    finally:
        execute(url, f"DROP DATABASE {name} WITH (FORCE)")
        execute(url, f"DROP ROLE {name}")
    indexes = " ".join(definition for (definition,) in schema["indexes"])
    assert "search_short_part" in indexes
    assert "search_part_of_title" not in indexes
