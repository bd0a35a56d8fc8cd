"""Laws that no code path can break, kept by triggers on SQLite and PostgreSQL alike.

Events are never changed; a frozen version keeps what it is; its files stay, and only derived files
may join them; a tag never moves. A refusal arrives as IntegrityError.
"""

from django.db import migrations

from registry.core import laws

VERSION_KEEPS = (
    "number", "model_id", "commit_id", "tree_id", "card", "readme", "manifest_sha256", "label",
)

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
        "OLD.kind = 'tag' AND OLD.version_id <> NEW.version_id",
        "a tag never moves",
    ),
    (
        "law_blob_kept",
        "registry_blob",
        "UPDATE",
        "OLD.sha256 <> NEW.sha256 OR OLD.size <> NEW.size",
        "a blob never changes",
    ),
]


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_initial")]
    operations = [laws.set_by(LAWS)]
