"""On PostgreSQL, what the planner has to know of filters and parts of names in large hubs.

A limit makes it walk all models in the order of a list where it expects to meet enough soon. It took
the pairs of characters of a name and a summary for cheap, and so did that for pairs that hardly any
model has. Columns that lists filter by lie beside the key, so that counting needs no other page.
"""

from django.db import migrations

FUNCTION = "registry_character_pairs(text)"
# About what it takes beside an operator; functions have 100 unless told.
COST = 10_000
INDEX = "search_filters"


def tell(apps, schema_editor):
    """Set the cost and create the index."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER FUNCTION {FUNCTION} COST {COST}")
        schema_editor.execute(
            f"CREATE INDEX {INDEX} ON registry_searchdocument (model_id) "
            "INCLUDE (audience, task, license, precision)"
        )


def forget(apps, schema_editor):
    """Set the usual cost and drop the index."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX {INDEX}")
        schema_editor.execute(f"ALTER FUNCTION {FUNCTION} COST 100")


class Migration(migrations.Migration):
    dependencies = [("registry", "0035_discussions")]
    operations = [migrations.RunPython(tell, forget)]
