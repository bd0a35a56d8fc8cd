"""What Django has no operation for: laws, and the indexes of searches, on SQLite and PostgreSQL.

Laws are triggers that no code path can break: events are never changed; a frozen version keeps what
it is; its files stay, and only derived files may join them; a tag never moves. A refusal arrives as
IntegrityError.
"""

import sys

from django.db import migrations

from registry.core import laws

VERSION_KEEPS = (
    "number", "model_id", "commit_id", "tree_id", "card", "readme", "manifest_sha256", "label",
)
# The tag of a commit becomes that of the version which the commit becomes.
COMMIT_OF_VERSION = "(SELECT commit_id FROM registry_version WHERE id = NEW.version_id)"
COMMIT_OF_TAG = "(SELECT commit_id FROM registry_commit WHERE id = OLD.commit_id)"

# Name, table, event, and the condition under which the change is refused.
LAWS = [
    ("law_event_kept", "registry_event", "UPDATE", "1 = 1", "events are never changed"),
    ("law_event_not_deleted", "registry_event", "DELETE", "1 = 1", "events are never deleted"),
    (
        "law_version_frozen",
        "registry_version",
        "UPDATE",
        "OLD.state <> 'draft' AND NEW.state <> 'draft' AND ({})".format(
            " OR ".join(
                f"CAST(OLD.{name} AS TEXT) <> CAST(NEW.{name} AS TEXT)" for name in VERSION_KEEPS
            )
        ),
        "a version that is not a draft keeps its content",
    ),
    (
        "law_version_released",
        "registry_version",
        "UPDATE",
        "OLD.state IN ('published', 'yanked', 'withdrawn') "
        "AND NEW.state IN ('draft', 'submitted')",
        "a published version never becomes a draft again",
    ),
    (
        "law_version_withdrawn",
        "registry_version",
        "UPDATE",
        "OLD.state = 'withdrawn' AND NEW.state <> 'withdrawn'",
        "a withdrawn version stays withdrawn",
    ),
    (
        "law_version_not_deleted",
        "registry_version",
        "DELETE",
        "OLD.state <> 'draft'",
        "only drafts are deleted",
    ),
    (
        "law_file_kept",
        "registry_file",
        "UPDATE",
        "(SELECT state FROM registry_version WHERE id = OLD.version_id) <> 'draft'",
        "the files of a frozen version never change",
    ),
    (
        "law_file_not_deleted",
        "registry_file",
        "DELETE",
        "(SELECT state FROM registry_version WHERE id = OLD.version_id) <> 'draft'",
        "the files of a frozen version are never deleted",
    ),
    (
        "law_file_derived",
        "registry_file",
        "INSERT",
        "NOT NEW.derived AND "
        "(SELECT state FROM registry_version WHERE id = NEW.version_id) <> 'draft'",
        "only derived files join a frozen version",
    ),
    (
        "law_tag_kept",
        "registry_ref",
        "UPDATE",
        f"OLD.kind = 'tag' AND ({laws.gained('commit_id')} OR OLD.version_id <> NEW.version_id "
        "OR (OLD.version_id IS NOT NULL AND NEW.version_id IS NULL) "
        f"OR (OLD.commit_id IS NOT NULL AND {COMMIT_OF_VERSION} <> {COMMIT_OF_TAG}))",
        "a tag never moves",
    ),
    (
        "law_blob_kept",
        "registry_blob",
        "UPDATE",
        "OLD.sha256 <> NEW.sha256 OR OLD.size <> NEW.size",
        "a blob never changes",
    ),
    (
        "law_dataset_version_kept",
        "registry_datasetversion",
        "UPDATE",
        laws.changed("dataset_id", "number", "sha256", "splits"),
        "a version of a data set never changes",
    ),
    (
        "law_dataset_file_kept",
        "registry_datasetfile",
        "UPDATE",
        laws.changed("version_id", "path", "blob_id"),
        "a file of a data set never changes",
    ),
    (
        "law_discussion_version",
        "registry_discussion",
        "INSERT",
        "NEW.version_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM registry_version "
        "WHERE id = NEW.version_id AND model_id = NEW.model_id)",
        "the version of a discussion is one of its model",
    ),
    (
        "law_discussion_kept",
        "registry_discussion",
        "UPDATE",
        laws.changed(
            "model_id", "number", "author_id", "version_id", "evidence_kind", "evidence_id", "node"
        ),
        "what a discussion is about never changes",
    ),
    (
        "law_discussion_numbers",
        "registry_discussioncount",
        "UPDATE",
        "NEW.last_number < OLD.last_number",
        "numbers of discussions are never reused",
    ),
    (
        "law_comment_kept",
        "registry_comment",
        "UPDATE",
        laws.changed("discussion_id", "number", "author_id"),
        "a comment keeps its place and its author",
    ),
]

DOCUMENTS = "registry_searchdocument"
FULL_TEXT = "registry_search_fts"
# Full text: FTS5 kept equal by triggers, or a GIN index. Both cut words at every character that is
# no letter or digit, so that `resnet50-int8` is found by each of its parts.
SQLITE = [
    f"CREATE VIRTUAL TABLE {FULL_TEXT} USING fts5("
    f"title, body, content='{DOCUMENTS}', content_rowid='model_id', "
    "tokenize=\"unicode61 separators '_'\", prefix='2 3')",
    f"CREATE TRIGGER search_added AFTER INSERT ON {DOCUMENTS} BEGIN "
    f"INSERT INTO {FULL_TEXT}(rowid, title, body) VALUES (NEW.model_id, NEW.title, NEW.body); END",
    f"CREATE TRIGGER search_removed AFTER DELETE ON {DOCUMENTS} BEGIN "
    f"INSERT INTO {FULL_TEXT}({FULL_TEXT}, rowid, title, body) "
    "VALUES ('delete', OLD.model_id, OLD.title, OLD.body); END",
    f"CREATE TRIGGER search_changed AFTER UPDATE OF title, body ON {DOCUMENTS} BEGIN "
    f"INSERT INTO {FULL_TEXT}({FULL_TEXT}, rowid, title, body) "
    "VALUES ('delete', OLD.model_id, OLD.title, OLD.body); "
    f"INSERT INTO {FULL_TEXT}(rowid, title, body) VALUES (NEW.model_id, NEW.title, NEW.body); END",
]
# As Django writes `icontains`, so that PostgreSQL sees the same expressions.
TITLE, SUMMARY = "UPPER(title::text)", "UPPER((latest ->> 'summary')::text)"
POSTGRESQL = [
    """
    CREATE FUNCTION registry_search_vector(title text, body text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT setweight(to_tsvector('simple', regexp_replace(title, '[^[:alnum:]]+', ' ', 'g')), 'A')
            || to_tsvector('simple', regexp_replace(body, '[^[:alnum:]]+', ' ', 'g'))
    $$
    """,
    # Kept in the row: a search that walks by downloads would else cut every text into words again.
    f"ALTER TABLE {DOCUMENTS} ADD COLUMN vector tsvector "
    "GENERATED ALWAYS AS (registry_search_vector(title::text, body)) STORED",
    # Not where PostgreSQL puts what is long: from there, ten thousand took three times as long.
    f"ALTER TABLE {DOCUMENTS} ALTER COLUMN vector SET STORAGE MAIN",
    f"CREATE INDEX search_full_text ON {DOCUMENTS} USING gin (vector)",
    # Single characters and pairs, for parts of a name or summary that have no trigram. The cost is
    # about what it takes beside an operator: the planner took it for cheap.
    """
    CREATE FUNCTION registry_character_pairs(whole text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
        SELECT array_agg(DISTINCT substr(whole, start, size))
        FROM generate_series(1, length(whole)) AS start, generate_series(1, 2) AS size
    $$
    """,
    f"CREATE INDEX search_short_part ON {DOCUMENTS} USING gin (registry_character_pairs("
    "UPPER(title::text) || ' ' || UPPER(COALESCE(latest ->> 'summary', ''))))",
    # Columns that lists filter by lie beside the key, so that counting needs no other page.
    f"CREATE INDEX search_filters ON {DOCUMENTS} (model_id) "
    "INCLUDE (audience, task, license, precision)",
    # Without these statistics a planner takes a group and its value for independent, expects a
    # tenth of the models that pass on a runtime, and gathers all where the first would do.
    'CREATE STATISTICS registry_documentfact_values (mcv) ON "group", value '
    "FROM registry_documentfact",
    "ALTER STATISTICS registry_documentfact_values SET STATISTICS 500",
]
# For parts with three letters or digits in a row (registry.catalogue.substrings).
TRIGRAMS = {"search_part_of_title": TITLE, "search_part_of_summary": SUMMARY}
HAS_TRIGRAMS = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm')"
MAY_HAVE_TRIGRAMS = (
    "SELECT has_database_privilege(current_database(), 'CREATE') "
    "AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm')"
)


def index_searches(_, editor):
    """Create the indexes of searches, those of trigrams where the extension can be had.

    A database that has no `pg_trgm`, or whose user may not create it, goes without two of them:
    lists are the same, but slow.
    """
    is_postgresql = editor.connection.vendor == "postgresql"
    for statement in POSTGRESQL if is_postgresql else SQLITE:
        editor.execute(statement, None)
    if not is_postgresql:
        return
    with editor.connection.cursor() as cursor:
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
        editor.execute(f"CREATE INDEX {name} ON {DOCUMENTS} USING gin (({expression}) gin_trgm_ops)")


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_tables")]
    operations = [laws.set_by(LAWS), migrations.RunPython(index_searches)]
