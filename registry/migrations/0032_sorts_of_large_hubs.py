"""What large hubs need: indexes of sorts, and on PostgreSQL how often each fact holds.

Without the statistics a planner takes a group and its value for independent, expects a tenth of the
models that pass on a runtime, and gathers all of them where the first thousands would do.
"""

from django.db import migrations, models

STATISTICS = "registry_documentfact_values"


def keep_statistics(apps, schema_editor):
    """Keep the commonest pairs of group and value; the next ANALYZE counts them."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f'CREATE STATISTICS {STATISTICS} (mcv) ON "group", value FROM registry_documentfact'
        )
        schema_editor.execute(f"ALTER STATISTICS {STATISTICS} SET STATISTICS 500")


def drop_statistics(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP STATISTICS {STATISTICS}")


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0031_likes_and_watches'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['audience', 'parameters', 'model'], name='search_by_parameters'),
        ),
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['audience', 'macs', 'model'], name='search_by_macs'),
        ),
        migrations.AddIndex(
            model_name='searchdocument',
            index=models.Index(fields=['audience', 'memory_bytes', 'model'], name='search_by_memory'),
        ),
        migrations.RunPython(keep_statistics, drop_statistics, elidable=False),
    ]
