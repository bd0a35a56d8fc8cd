"""Tasks of models have the spelling of the vocabulary, whatever blanks and capitals cards had."""

from django.db import migrations

from hub.protocol.vocabularies import task_name


def respell(apps, schema_editor):
    for name in ("RegisteredModel", "SearchDocument"):
        rows = apps.get_model("registry", name).objects.exclude(task="")
        for task in list(rows.order_by().values_list("task", flat=True).distinct()):
            if (spelling := task_name(task)) != task:
                rows.filter(task=task).update(task=spelling)


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0005_hidden_titles"),
    ]

    operations = [
        migrations.RunPython(respell, migrations.RunPython.noop, elidable=True),
    ]
