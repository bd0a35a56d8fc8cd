"""Commits that every reader may have, and tags of commits that are no versions."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from registry.core import laws

# As 0002 has it. Changing the table makes it anew on SQLite, which loses its triggers.
BEFORE = (
    "law_tag_kept",
    "registry_ref",
    "UPDATE",
    "OLD.kind = 'tag' AND OLD.version_id <> NEW.version_id",
    "a tag never moves",
)
# The tag of a commit becomes that of the version which the commit becomes.
COMMIT_OF_VERSION = "(SELECT commit_id FROM registry_version WHERE id = NEW.version_id)"
COMMIT_OF_TAG = "(SELECT commit_id FROM registry_commit WHERE id = OLD.commit_id)"
AFTER = (
    "law_tag_kept",
    "registry_ref",
    "UPDATE",
    f"OLD.kind = 'tag' AND ({laws.gained('commit_id')} OR OLD.version_id <> NEW.version_id "
    "OR (OLD.version_id IS NOT NULL AND NEW.version_id IS NULL) "
    f"OR (OLD.commit_id IS NOT NULL AND {COMMIT_OF_VERSION} <> {COMMIT_OF_TAG}))",
    "a tag never moves",
)


class Migration(migrations.Migration):

    dependencies = [
        ("registry", "0025_personal_namespaces"),
    ]

    operations = [
        laws.lifted([BEFORE]),
        migrations.AddField(
            model_name="commit",
            name="precedes_model",
            field=models.BooleanField(
                default=False,
                help_text="the repository had no ONNX file up to this commit, so every reader may have it",
            ),
        ),
        migrations.AddField(
            model_name="registeredmodel",
            name="opened_at",
            field=models.DateTimeField(
                blank=True, help_text="when the first commit without an ONNX model was made", null=True
            ),
        ),
        migrations.AlterField(
            model_name="ref",
            name="version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="refs",
                to="registry.version",
            ),
        ),
        migrations.AddField(
            model_name="ref",
            name="commit",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tags",
                to="registry.commit",
            ),
        ),
        migrations.AddField(
            model_name="ref",
            name="author",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="ref",
            constraint=models.CheckConstraint(
                condition=models.Q(("commit__isnull", True), ("version__isnull", False))
                | models.Q(
                    ("commit__isnull", False), ("kind", "tag"), ("version__isnull", True)
                ),
                name="ref_names_one_thing",
            ),
        ),
        laws.set_by([AFTER]),
    ]
