"""Migrations since the newest release only add: that release's code works on the new tables."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

RELEASED = tomllib.loads(Path(__file__).with_name("released_migrations.toml").read_text())
CURE = (
    "is not additive. Spread it over two releases (add, then remove), give a new column null=True "
    "or a db_default, or say under [exceptions] why the older code is right with it"
)


def fault(operation, new_models):
    """Why code of before an operation could fail after it; empty where it cannot."""
    model = (getattr(operation, "model_name", "") or getattr(operation, "name", "")).lower()
    harmless = (
        isinstance(operation, migrations.CreateModel | migrations.AddIndex | migrations.RemoveIndex
                   | migrations.RemoveConstraint | migrations.AlterModelOptions
                   | migrations.AlterModelManagers)
        or model in new_models
    )  # fmt: skip
    if harmless:
        return ""
    if isinstance(operation, migrations.AddField):
        field = operation.field
        has_value = field.null or field.has_db_default() or field.many_to_many
        return "" if has_value else f"the new column {model}.{operation.name}"
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        inner = (fault(one, new_models) for one in operation.database_operations)
        return next(filter(None, inner), "")
    return operation.describe()


def later_than_release():
    """Migrations of our apps that the newest release does not have, in order."""
    loader = MigrationLoader(None)
    rows = []
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        head = RELEASED["heads"].get(app)
        if head is not None and name > head and not migration.replaces:
            rows.append((f"{app}.{name}", migration))
    return rows


def test_migrations_since_the_release_only_add():
    faults = []
    new_models = set()
    for name, migration in later_than_release():
        created = (one for one in migration.operations if isinstance(one, migrations.CreateModel))
        new_models |= {one.name.lower() for one in created}
        if name in RELEASED["exceptions"]:
            continue
        words = (fault(operation, new_models) for operation in migration.operations)
        faults += [f"{name}: {one} {CURE}" for one in words if one]
    assert faults == []


def test_heads_and_exceptions_exist():
    names = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    assert {f"{app}.{name}" for app, name in RELEASED["heads"].items()} <= names
    assert set(RELEASED["exceptions"]) <= {name for name, _ in later_than_release()}


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("version", "state"),
        migrations.RenameField("version", "state", "status"),
        migrations.DeleteModel("Version"),
        migrations.AlterField("version", "state", models.CharField(max_length=5)),
        migrations.AddField("version", "colour", models.CharField(max_length=5, default="red")),
        migrations.AddConstraint("version", models.UniqueConstraint(fields=["state"], name="x")),
        migrations.RunSQL("DELETE FROM registry_version"),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_what_breaks_older_code_is_noticed(operation):
    assert fault(operation, set())
    assert fault(operation, {"version"}) == "" or isinstance(operation, migrations.RunSQL)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("version", "colour", models.CharField(max_length=5, null=True)),
        migrations.AddField("version", "colour", models.CharField(max_length=5, db_default="red")),
        migrations.CreateModel("Colour", []),
        migrations.RemoveConstraint("version", "x"),
    ],
    ids=["null", "db_default", "CreateModel", "RemoveConstraint"],
)
def test_what_only_adds_is_right(operation):
    assert fault(operation, set()) == ""
