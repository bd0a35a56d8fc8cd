"""Each interval of an evaluation names its method.

Shares of right rows get the interval of Clopper and Pearson, which follows from the value and the
number of rows. Other figures keep theirs, named as what they are.
"""

from django.db import migrations, models

from hub.protocol.intervals import proportion


def recompute(apps, schema_editor):
    rows = apps.get_model("runners", "Evaluation").objects.filter(metric__in=["accuracy", "top-5"])
    for row in rows.iterator():
        interval = proportion(round(row.value * row.rows), row.rows)
        row.low, row.high = interval.low, interval.high
        row.interval_method = str(interval.method)
        row.save(update_fields=["low", "high", "interval_method"])


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0003_interval_methods"),
        ("runners", "0002_laws"),
    ]

    operations = [
        migrations.AddField(
            "evaluation",
            "interval_method",
            models.CharField(
                blank=True, db_default="percentile bootstrap", default="", max_length=64
            ),
        ),
        migrations.AddConstraint(
            "evaluation",
            models.CheckConstraint(
                condition=models.Q(
                    interval_method__in=[
                        "",
                        "Clopper-Pearson",
                        "bootstrap with two pseudo-rows",
                        "studentised bootstrap",
                        "percentile bootstrap",
                        "Student's t of the processes' log medians",
                        "Wilcoxon's signed ranks",
                        "errors of held-out models",
                    ]
                ),
                name="evaluation_interval_method_known",
            ),
        ),
        migrations.RunPython(recompute, migrations.RunPython.noop, elidable=True),
    ]
