"""What a base version was trained on is declared; epsilon is computed from rows, never stored.

The epsilon that was stored before counted the rounds of one training alone, at a delta that grew
with fewer devices, so it is removed: statements of old versions are computed anew.
"""

from importlib import import_module

from django.db import migrations, models

from registry.core import laws

BEFORE = import_module("registry.federated.migrations.0004_choices").LAWS

CHANGED = [
    (
        "law_training_kept", "federated_training", "UPDATE",
        laws.changed("uuid", "model_id", "number", "base_id", "base_data", "entry", "roles"),
        "a training keeps what it began with",
    ),
]  # fmt: skip
LAWS = list({law[0]: law for law in [*BEFORE, *CHANGED]}.values())


def forget_epsilon(apps, _):
    rows = apps.get_model("federated", "Aggregate").objects.filter(figures__has_key="privacy")
    for row in rows.iterator():
        del row.figures["privacy"]
        row.save(update_fields=["figures"])


class Migration(migrations.Migration):
    dependencies = [("federated", "0004_choices")]
    operations = [
        laws.lifted(BEFORE),
        migrations.RunPython(forget_epsilon, migrations.RunPython.noop),
        migrations.RemoveField("training", "privacy"),
        migrations.AddField(
            "training",
            "base_data",
            models.CharField(
                choices=[("unknown", "Unknown"), ("untrained", "Untrained"), ("public", "Public")],
                default="unknown",
                help_text="what an uploaded base was trained on, as maintainers declare it",
                max_length=9,
            ),
        ),
        migrations.AddConstraint(
            "training",
            models.CheckConstraint(
                condition=models.Q(base_data__in=["unknown", "untrained", "public"]),
                name="training_base_data_known",
            ),
        ),
        laws.set_by(LAWS),
    ]  # fmt: skip
