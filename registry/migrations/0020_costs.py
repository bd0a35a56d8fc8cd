"""What a run of a model costs, counted from its graph: to show, to filter by, to sort by."""

from django.db import migrations, models
from django.db.models import Value
from django.db.models.functions import Concat

GROUPS = ("max_macs", "max_memory")
BETWEEN = "\x1f"


def count_for_nothing(apps, schema_editor):
    """Note in the text that filters count that the models of today have no such figures yet."""
    more = "".join(f"{BETWEEN}{group}:" for group in GROUPS)
    apps.get_model("registry", "DocumentFacets").objects.update(pairs=Concat("pairs", Value(more)))


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0019_no_browser_evidence'),
    ]

    operations = [
        migrations.AddField(
            model_name='searchdocument',
            name='macs',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='searchdocument',
            name='memory_bytes',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='variant',
            name='macs',
            field=models.BigIntegerField(blank=True, help_text='multiply-accumulate operations, for usual sizes', null=True),
        ),
        migrations.AddField(
            model_name='variant',
            name='memory_bytes',
            field=models.BigIntegerField(blank=True, help_text='of weights and activations, for usual sizes', null=True),
        ),
        migrations.RunPython(count_for_nothing, migrations.RunPython.noop),
    ]
