"""Laws of the log, kept by triggers on SQLite and PostgreSQL alike: nothing of it ever changes.

A refusal arrives as IntegrityError.
"""

from django.db import migrations

from registry.core import laws

_REFUSAL = "the transparency log is append-only"

# Name, table, event, and the condition under which the change is refused.
LAWS = [
    *[
        (f"law_{table}_{event.lower()}", f"provenance_{table}", event, "1 = 1", _REFUSAL)
        for table in ("logleaf", "lognode", "loghead")
        for event in ("UPDATE", "DELETE")
    ],
    (
        "law_logleaf_follows", "provenance_logleaf", "INSERT",
        "NEW.position <> COALESCE((SELECT MAX(position) + 1 FROM provenance_logleaf), 0)",
        "a leaf of the log follows the last one",
    ),
]


class Migration(migrations.Migration):

    dependencies = [
        ("provenance", "0001_tables"),
    ]

    operations = [
        laws.set_by(LAWS),
    ]
