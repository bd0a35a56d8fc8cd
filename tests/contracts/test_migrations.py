"""What migrations do on each kind of database, in a process of their own as operators run them."""

import os
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from urllib.parse import urlsplit

import psycopg2
import pytest

from tests.faults.conftest import ROOT, own_environment
from tests.integration.conftest import execute

pytestmark = pytest.mark.live
# What a database made before release 0.1.0 has recorded, in the order of its migrations.
OLD_MIGRATIONS = [
    ("registry", "0001_initial"),
    ("registry", "0002_laws"),
    ("registry", "0001_squashed_0034_search_by_parts"),
    ("registry", "0036_costs_of_searches"),
    ("federated", "0001_squashed_0005_privacy"),
    ("metadata", "0001_squashed_0004_shared_states"),
    ("runners", "0001_squashed_0016_several_labels"),
]
REFUSAL = (
    "This database was made before release 0.1.0 and cannot be upgraded. Start the version that "
    "made it and export each namespace with `hub mirror export NAMESPACE FOLDER`. Then start this "
    "version with a new data folder and database, and run `hub mirror import FOLDER`."
)


def run(command, address, home):
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.settings", "HUB_HOME": str(home), "DATABASE_URL": address,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *command], cwd=ROOT, check=False,
        env=own_environment() | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def postgresql():
    """The address of a new database."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    name = f"hub_{uuid.uuid4().hex[:12]}"
    execute(url, f"CREATE DATABASE {name}")
    yield urlsplit(url)._replace(path=f"/{name}").geturl()
    execute(url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """The address of a new database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hub.sqlite3'}"
    return request.getfixturevalue("postgresql")


def connect(address):
    parts = urlsplit(address)
    return closing(
        sqlite3.connect(parts.path) if parts.scheme == "sqlite" else psycopg2.connect(address)
    )


def record(address, migrations):
    """Make a database that has these migrations recorded, and no table of theirs."""
    with connect(address) as connection, connection:
        cursor = connection.cursor()
        cursor.execute(
            "CREATE TABLE django_migrations (id integer, app text, name text, applied date)"
        )
        for app, name in migrations:
            values = f"VALUES ('{app}', '{name}')"
            cursor.execute(f"INSERT INTO django_migrations (app, name) {values}")


def tables(address):
    catalogue = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if address.startswith("sqlite")
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    with connect(address) as connection:
        cursor = connection.cursor()
        cursor.execute(catalogue)
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize(
    ("command", "prefix", "migrations"),
    [
        (["django", "migrate"], "CommandError: ", OLD_MIGRATIONS),
        (["django", "migrate"], "CommandError: ", OLD_MIGRATIONS[:1]),
        (["django", "migrate", "--check"], "CommandError: ", OLD_MIGRATIONS),
        (["hub", "serve", "--port", "0"], "hub: ", OLD_MIGRATIONS),
    ],
    ids=["migrate", "interrupted", "check", "serve"],
)
def test_a_database_made_before_the_first_release_is_refused_untouched(
    address, tmp_path, command, prefix, migrations
):
    record(address, migrations)
    result = run(command, address, tmp_path)
    assert result.returncode == 1
    assert result.stderr == f"{prefix}{REFUSAL}\n"
    assert tables(address) == {"django_migrations"}


def test_a_new_database_has_the_tables_of_every_app(address, tmp_path):
    result = run(["django", "migrate", "--verbosity", "0"], address, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert run(["django", "migrate", "--check"], address, tmp_path).returncode == 0
    expected = {"registry_version", "runners_job", "metadata_namedgraph", "federated_round"}
    assert expected <= tables(address)


def test_a_role_that_may_create_no_extension_goes_without_trigrams(postgresql, tmp_path):
    parts = urlsplit(postgresql)
    role = parts.path.removeprefix("/")
    host = parts.netloc.rpartition("@")[2]
    execute(postgresql, f"CREATE ROLE {role} LOGIN")
    try:
        with connect(postgresql) as connection, connection:
            connection.cursor().execute(f"GRANT ALL ON SCHEMA public TO {role}")
        result = run(["django", "migrate"], f"postgres://{role}@{host}/{role}", tmp_path)
        with connect(postgresql) as connection, connection, connection.cursor() as cursor:
            cursor.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")
            indexes = {name for (name,) in cursor.fetchall()}
            cursor.execute(f"DROP OWNED BY {role}")
    finally:
        execute(postgresql, f"DROP ROLE {role}")
    assert "PostgreSQL has no pg_trgm for this role: see docs/operate.md" in result.stderr
    assert "search_short_part" in indexes
    assert "search_part_of_title" not in indexes


# As many rows of accuracies as no hub of tests has, without the rows that they belong to.
MANY = 1_000_000
FILL = """
SET session_replication_role = replica;
INSERT INTO registry_documentaccuracy ({columns}) SELECT {values} FROM generate_series(1, {rows}) n;
ANALYZE registry_documentaccuracy;
"""
# A value of each type of column.
VALUES = {
    "bigint": "n", "integer": "n", "smallint": "1", "double precision": "0.5", "boolean": "true",
    "character varying": "left(n::text, 8)", "text": "'x'", "jsonb": "'{}'",
    "timestamp with time zone": "now()",
}  # fmt: skip


def fill(address):
    with connect(address) as connection, connection:
        cursor = connection.cursor()
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = 'registry_documentaccuracy' AND is_identity = 'NO'"
        )
        columns = cursor.fetchall()
        cursor.execute(
            FILL.format(
                rows=MANY,
                columns=", ".join(name for name, _ in columns),
                values=", ".join(VALUES[kind] for _, kind in columns),
            )
        )


def test_a_plan_names_locks_rows_and_times_and_changes_nothing(postgresql, tmp_path):
    made = run(["django", "migrate", "registry", "0002"], postgresql, tmp_path)
    assert made.returncode == 0, made.stderr
    fill(postgresql)
    before = tables(postgresql)
    plan = run(["django", "migrate", "--plan"], postgresql, tmp_path)
    assert plan.returncode == 0, plan.stderr
    lines = plan.stdout.splitlines()
    start = lines.index("registry.0003_interval_methods")
    effects = lines[start + 1 : lines.index("registry.0004_strengths_of_proofs")]
    column, check = (effects[at] for at in (0, 2))
    words = "ACCESS EXCLUSIVE: reads and writes wait, about "
    for effect in (column, check):
        table, _, rest = effect.partition(" rows, ")
        name, _, rows = table.strip().partition(", ")
        assert name == "registry_documentaccuracy"
        assert abs(int(rows.replace(" ", "")) - MANY) < MANY / 10  # as PostgreSQL estimates it
        assert rest.startswith(words)
    assert effects[-2].strip() == "unknown: runs code, time not measured"
    assert "registry_maintenancemode, 0 rows, none: new table, about 0.0 s" in plan.stdout
    assert tables(postgresql) == before
