"""Downloads are counted in a narrow table of their own, which requests never write.

The column of documents stays: lists are sorted by it, and it follows within minutes.
"""

import django.db.models.deletion
from django.db import migrations, models


def move_counts(apps, schema_editor):
    """Copy the counts of models that were downloaded."""
    schema_editor.execute(
        "INSERT INTO registry_downloadcount (model_id, downloads) "
        "SELECT id, downloads FROM registry_registeredmodel WHERE downloads > 0"
    )


def move_counts_back(apps, schema_editor):
    """Copy them to the models again."""
    schema_editor.execute(
        "UPDATE registry_registeredmodel SET downloads = (SELECT c.downloads "
        "FROM registry_downloadcount c WHERE c.model_id = registry_registeredmodel.id) "
        "WHERE id IN (SELECT model_id FROM registry_downloadcount)"
    )


class Migration(migrations.Migration):
    dependencies = [("registry", "0013_storage_ledger")]
    operations = [
        migrations.CreateModel(
            name="DownloadCount",
            fields=[
                (
                    "model",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="download_count",
                        serialize=False,
                        to="registry.registeredmodel",
                    ),
                ),
                ("downloads", models.BigIntegerField(default=0)),
            ],
            options={
                "ordering": ["model"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("downloads__gte", 0)),
                        name="downloadcount_not_negative",
                    )
                ],
            },
        ),
        migrations.RunPython(move_counts, move_counts_back),
        migrations.RemoveField(model_name="registeredmodel", name="downloads"),
        migrations.AlterField(
            model_name="searchdocument",
            name="downloads",
            field=models.BigIntegerField(
                default=0, help_text="what DownloadCount said some minutes ago, for sorting"
            ),
        ),
    ]
