"""The graph optimiser of a runtime may be at fault, and results name its passes.

A failed check of the optimisation is a fault that is gone without it, unless the reference confirms
the optimised outputs.
"""

from django.db import migrations, models


def blame_optimiser(apps, schema_editor):
    results = apps.get_model("runners", "ConformanceResult").objects
    confirmed = results.filter(
        variant=models.OuterRef("variant"),
        runtime=models.OuterRef("runtime"),
        runtime_version=models.OuterRef("runtime_version"),
        check_kind="reference",
        outcome="passed",
    )
    results.filter(
        ~models.Exists(confirmed), check_kind="optimisation", outcome="failed", blames="runtime"
    ).exclude(runs=False).update(blames="optimiser")


def blame_runtime(apps, schema_editor):
    results = apps.get_model("runners", "ConformanceResult").objects
    results.filter(blames="optimiser").update(blames="runtime", graph_pass="")


class Migration(migrations.Migration):
    dependencies = [("runners", "0003_interval_methods")]

    operations = [
        migrations.AddField(
            "conformanceresult",
            "graph_pass",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="passes of the graph optimiser that are at fault, joined by commas",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            "conformanceresult",
            "blames",
            models.CharField(
                blank=True,
                choices=[
                    ("runtime", "Runtime"),
                    ("optimiser", "Optimiser"),
                    ("data", "Data"),
                    ("reference", "Reference"),
                ],
                default="",
                max_length=9,
            ),
        ),
        migrations.RemoveConstraint("conformanceresult", "conformance_blames_known"),
        migrations.AddConstraint(
            "conformanceresult",
            models.CheckConstraint(
                condition=models.Q(blames="")
                | models.Q(blames__in=["runtime", "optimiser", "data", "reference"]),
                name="conformance_blames_known",
            ),
        ),
        migrations.RunPython(blame_optimiser, blame_runtime, elidable=True),
        migrations.AddConstraint(
            "conformanceresult",
            models.CheckConstraint(
                condition=~models.Q(blames="optimiser") | models.Q(outcome="failed"),
                name="conformance_wrong_optimiser_fails",
            ),
        ),
        migrations.AddConstraint(
            "conformanceresult",
            models.CheckConstraint(
                condition=models.Q(graph_pass="") | models.Q(blames="optimiser"),
                name="conformance_pass_of_the_optimiser",
            ),
        ),
    ]
