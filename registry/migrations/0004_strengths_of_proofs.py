"""Proofs of upgrades are certified, sampled, schema, partial or earlier-method.

A proof by runs says what ran and no more, so `full` is `sampled`. Those by runs that were `schema`,
since what did not run means the same in both operator sets, are `sampled` too: that says nothing of
what did run. The evidence stays as it is. Processes of the previous release may still write `full`.
"""

from django.db import migrations, models


def rename(apps, schema_editor):
    rows = apps.get_model("registry", "Variant").objects.filter(origin="upgraded")
    rows.filter(proof_strength="full").update(proof_strength="sampled")
    by_runs = rows.filter(proof_strength="schema").exclude(proof__judges=["schema-registry"])
    by_runs.update(proof_strength="sampled")


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0003_interval_methods"),
    ]

    operations = [
        migrations.RemoveConstraint("variant", "variant_upgraded_has_strength"),
        migrations.AlterField(
            "variant",
            "proof_strength",
            models.CharField(
                blank=True,
                choices=[
                    ("certified", "certified"),
                    ("sampled", "sampled"),
                    ("schema", "schema"),
                    ("partial", "partial"),
                    ("earlier-method", "earlier-method"),
                ],
                default="",
                max_length=14,
            ),
        ),
        migrations.RunPython(rename, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            "variant",
            models.CheckConstraint(
                condition=models.Q(
                    origin="upgraded",
                    proof_strength__in=[
                        "certified",
                        "sampled",
                        "schema",
                        "partial",
                        "earlier-method",
                        "full",
                    ],
                )
                | (
                    models.Q(proof__isnull=True, proof_strength="")
                    & ~models.Q(origin="upgraded")
                ),
                name="variant_upgraded_has_strength",
            ),
        ),
    ]
