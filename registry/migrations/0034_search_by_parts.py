"""On PostgreSQL, indexes for a part of a name or of a summary (registry.catalogue.substrings).

Without them a text that hardly any model has is looked for in every row. A database that has no
`pg_trgm`, or whose user may not create it, goes without two of them: lists are the same, but slow.
"""

import sys

from django.db import migrations

TABLE = "registry_searchdocument"
# As Django writes `icontains`, so that PostgreSQL sees the same expressions.
TITLE, SUMMARY = "UPPER(title::text)", "UPPER((latest ->> 'summary')::text)"
TRIGRAMS = {"search_part_of_title": TITLE, "search_part_of_summary": SUMMARY}
PAIRS = "search_short_part"
FUNCTION = """
    CREATE FUNCTION registry_character_pairs(whole text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT array_agg(DISTINCT substr(whole, start, size))
        FROM generate_series(1, length(whole)) AS start, generate_series(1, 2) AS size
    $$
"""
HAS_TRIGRAMS = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm')"
MAY_HAVE_TRIGRAMS = (
    "SELECT has_database_privilege(current_database(), 'CREATE') "
    "AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm')"
)


def create(apps, schema_editor):
    """Create the function, the extension where that is possible, and the indexes."""
    if schema_editor.connection.vendor != "postgresql":
        return
    execute = schema_editor.execute
    execute(FUNCTION)
    execute(
        f"CREATE INDEX {PAIRS} ON {TABLE} USING gin (registry_character_pairs("
        "UPPER(title::text) || ' ' || UPPER(COALESCE(latest ->> 'summary', ''))))"
    )
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(MAY_HAVE_TRIGRAMS)
        if cursor.fetchone()[0]:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        cursor.execute(HAS_TRIGRAMS)
        has_trigrams = cursor.fetchone()[0]
    if not has_trigrams:
        text = "PostgreSQL has no pg_trgm for this role: see docs/operate.md, PostgreSQL"
        print(text, file=sys.stderr)  # noqa: T201
        return
    for name, expression in TRIGRAMS.items():
        execute(f"CREATE INDEX {name} ON {TABLE} USING gin (({expression}) gin_trgm_ops)")


def drop(apps, schema_editor):
    """Drop the indexes and the function; the extension may serve others."""
    if schema_editor.connection.vendor == "postgresql":
        for name in (*TRIGRAMS, PAIRS):
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
        schema_editor.execute("DROP FUNCTION registry_character_pairs(text)")


class Migration(migrations.Migration):
    dependencies = [("registry", "0033_collections")]
    operations = [migrations.RunPython(create, drop)]
