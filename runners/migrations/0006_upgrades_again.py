"""Every published version is looked at again, so that its upgrades are made by today's method."""

from django.db import migrations


def look_again(apps, schema_editor):
    runtimes = apps.get_model("runners", "Runtime").objects
    runtimes.filter(name="onnxruntime").update(cursor=0, caught_up_at=None)


class Migration(migrations.Migration):
    dependencies = [
        ("runners", "0005_lost_workers_without_names"),
        ("registry", "0015_proofs"),
    ]

    operations = [migrations.RunPython(look_again, migrations.RunPython.noop)]
