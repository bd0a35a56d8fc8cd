"""Texts about lost workers name no machine and no process: everybody who sees the job reads them."""

import re

from django.db import migrations

NAMED = re.compile(r"^The worker \S+ was lost")


def shorten(apps, schema_editor):
    for model, column in (("Job", "error_detail"), ("Attempt", "detail")):
        rows = apps.get_model("runners", model).objects
        for row in rows.filter(**{f"{column}__startswith": "The worker "}).iterator():
            text = NAMED.sub("The worker was lost", getattr(row, column))
            rows.filter(pk=row.pk).update(**{column: text})


class Migration(migrations.Migration):
    dependencies = [("runners", "0004_measurements")]

    operations = [migrations.RunPython(shorten, migrations.RunPython.noop)]
