"""Laws: what a database refuses for every writer, as triggers on SQLite and PostgreSQL alike.

Migrations name them; a refusal arrives as IntegrityError. SQLite recreates a table for most
changes of its columns and forgets its triggers then, so a migration that changes a table with laws
lifts them first and sets them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import migrations

# Name, table, event, the condition under which a change is refused, and the message. A condition
# that databases write in different ways is named by their vendors.
Law = tuple[str, str, str, str | Mapping[str, str], str]


def changed(*names: str) -> str:
    """The condition that one of these columns gets another value, absence counting as one."""
    return "({})".format(
        " OR ".join(
            f"COALESCE(CAST(OLD.{name} AS TEXT), '') <> COALESCE(CAST(NEW.{name} AS TEXT), '')"
            for name in names
        )
    )


def gained(*names: str) -> str:
    """The condition that one of these columns gets another value that is there."""
    return "({})".format(
        " OR ".join(
            f"(NEW.{name} IS NOT NULL AND "
            f"COALESCE(CAST(OLD.{name} AS TEXT), '') <> CAST(NEW.{name} AS TEXT))"
            for name in names
        )
    )


def other_sha256(digest: str, text: str) -> Mapping[str, str]:
    """The condition that one column is not the SHA-256 (hex) of the text in another, as UTF-8."""
    return {
        # Django registers the function with each connection.
        "sqlite": f"NEW.{digest} IS NOT SHA256(NEW.{text})",
        "postgresql": f"NEW.{digest} IS DISTINCT FROM "
        f"encode(sha256(convert_to(NEW.{text}, 'UTF8')), 'hex')",
    }


def set_by(laws: Iterable[Law]) -> migrations.RunPython:
    """The operation that sets laws; undone, it lifts them."""
    names = tuple(laws)
    return migrations.RunPython(
        lambda _, editor: _create(editor, names), lambda _, editor: _drop(editor, names)
    )


def lifted_by(laws: Iterable[Law]) -> migrations.RunPython:
    """The operation that lifts laws while their table changes; undone, it sets them."""
    names = tuple(laws)
    return migrations.RunPython(
        lambda _, editor: _drop(editor, names), lambda _, editor: _create(editor, names)
    )


def _create(editor: Any, laws: tuple[Law, ...]) -> None:
    # No parameters, not even none of them: a condition may hold a percent sign.
    for name, table, event, refused, message in laws:
        condition = refused if isinstance(refused, str) else refused[editor.connection.vendor]
        if editor.connection.vendor == "postgresql":
            row = "OLD" if event == "DELETE" else "NEW"
            refusal = f"'{message}' USING ERRCODE = 'integrity_constraint_violation'"
            editor.execute(
                f"""
                CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $law$
                BEGIN
                    IF {condition} THEN
                        RAISE EXCEPTION {refusal};
                    END IF;
                    RETURN {row};
                END
                $law$
                """,
                None,
            )
            editor.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION {name}()",
                None,
            )
        else:
            editor.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW WHEN {condition} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END",
                None,
            )


def _drop(editor: Any, laws: tuple[Law, ...]) -> None:
    for name, table, *_ in laws:
        if editor.connection.vendor == "postgresql":
            editor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
            editor.execute(f"DROP FUNCTION IF EXISTS {name}()")
        else:
            editor.execute(f"DROP TRIGGER IF EXISTS {name}")
