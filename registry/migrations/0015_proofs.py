"""How far each upgraded variant was shown to equal its original.

Those of before were compared by a tolerance that one operator could loosen, and nobody recorded
what their inputs reached: they stay, as recorded by an older method, until they are made again.
"""

from django.db import migrations, models

BETWEEN = "\x1f"
PAIR = "evidence:upgrade"


def mark(apps, schema_editor):
    variants = apps.get_model("registry", "Variant").objects
    variants.filter(origin="upgraded").update(proof_strength="earlier-method")


def leave_out(apps, schema_editor):
    """Take models out of the filter for ready upgrades; their new proofs bring them back."""
    facts = apps.get_model("registry", "DocumentFact").objects
    facts.filter(group="evidence", value="upgrade").delete()
    facets = apps.get_model("registry", "DocumentFacets").objects
    for row in facets.filter(pairs__contains=PAIR).iterator():
        kept = [pair for pair in row.pairs.split(BETWEEN) if pair != PAIR]
        facets.filter(pk=row.pk).update(pairs=BETWEEN.join(kept))


class Migration(migrations.Migration):
    dependencies = [("registry", "0014_download_counts")]

    operations = [
        migrations.AddField(
            model_name="variant",
            name="proof",
            field=models.JSONField(
                blank=True, help_text="the evidence, as hub.protocol.proofs writes it", null=True
            ),
        ),
        migrations.AddField(
            model_name="variant",
            name="proof_strength",
            field=models.CharField(
                blank=True,
                choices=[
                    ("full", "Full"),
                    ("schema", "Schema"),
                    ("partial", "Partial"),
                    ("earlier-method", "Earlier Method"),
                ],
                default="",
                max_length=14,
            ),
        ),
        migrations.RunPython(mark, migrations.RunPython.noop),
        migrations.RunPython(leave_out, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="variant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("origin", "upgraded"),
                    ("proof_strength__in", ["full", "schema", "partial", "earlier-method"]),
                )
                | (
                    models.Q(("proof__isnull", True), ("proof_strength", ""))
                    & ~models.Q(("origin", "upgraded"))
                ),
                name="variant_upgraded_has_strength",
            ),
        ),
        migrations.AddConstraint(
            model_name="variant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("proof__isnull", True), ("proof_strength__in", ["", "earlier-method"])
                )
                | (
                    ~models.Q(("proof_strength__in", ["", "earlier-method"]))
                    & models.Q(("proof__isnull", False))
                ),
                name="variant_strength_has_proof",
            ),
        ),
    ]
