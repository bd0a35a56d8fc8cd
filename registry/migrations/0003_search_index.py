"""The full-text index of each engine: FTS5 kept equal by triggers, or a GIN index.

Both cut words at every character that is no letter or digit, so that `resnet50-int8` is found by
each of its parts.
"""

from django.db import migrations

TABLE = "registry_searchdocument"
FTS = "registry_search_fts"

SQLITE = [
    f"CREATE VIRTUAL TABLE {FTS} USING fts5("
    f"title, body, content='{TABLE}', content_rowid='model_id', "
    "tokenize=\"unicode61 separators '_'\", prefix='2 3')",
    f"CREATE TRIGGER search_added AFTER INSERT ON {TABLE} BEGIN "
    f"INSERT INTO {FTS}(rowid, title, body) VALUES (NEW.model_id, NEW.title, NEW.body); END",
    f"CREATE TRIGGER search_removed AFTER DELETE ON {TABLE} BEGIN "
    f"INSERT INTO {FTS}({FTS}, rowid, title, body) "
    "VALUES ('delete', OLD.model_id, OLD.title, OLD.body); END",
    f"CREATE TRIGGER search_changed AFTER UPDATE OF title, body ON {TABLE} BEGIN "
    f"INSERT INTO {FTS}({FTS}, rowid, title, body) "
    "VALUES ('delete', OLD.model_id, OLD.title, OLD.body); "
    f"INSERT INTO {FTS}(rowid, title, body) VALUES (NEW.model_id, NEW.title, NEW.body); END",
]
SQLITE_BACK = [
    *[f"DROP TRIGGER search_{word}" for word in ("added", "removed", "changed")],
    f"DROP TABLE {FTS}",
]
POSTGRESQL = [
    """
    CREATE FUNCTION registry_search_vector(title text, body text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT setweight(to_tsvector('simple', regexp_replace(title, '[^[:alnum:]]+', ' ', 'g')), 'A')
            || to_tsvector('simple', regexp_replace(body, '[^[:alnum:]]+', ' ', 'g'))
    $$
    """,
    # Kept in the row: a search that walks by downloads would else cut every text into words again.
    f"ALTER TABLE {TABLE} ADD COLUMN vector tsvector "
    "GENERATED ALWAYS AS (registry_search_vector(title::text, body)) STORED",
    f"CREATE INDEX search_full_text ON {TABLE} USING gin (vector)",
]
POSTGRESQL_BACK = [
    "DROP INDEX search_full_text",
    f"ALTER TABLE {TABLE} DROP COLUMN vector",
    "DROP FUNCTION registry_search_vector(text, text)",
]


def create(apps, schema_editor):
    """Create the index of the database at hand."""
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in POSTGRESQL if is_postgresql else SQLITE:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    """Drop it again."""
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in POSTGRESQL_BACK if is_postgresql else SQLITE_BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("registry", "0002_laws")]
    operations = [migrations.RunPython(create, drop)]
