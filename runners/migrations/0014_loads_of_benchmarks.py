"""The load of a result: queries in flight at once, and the bound of a percentile of latency."""

from importlib import import_module

from django.conf import settings
from django.db import migrations, models


# Adding a column makes the table anew on SQLite, which loses its triggers.
laws = import_module("runners.migrations.0004_measurements")


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0022_dataset_laws'),
        ('runners', '0012_evaluations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(laws.drop, laws.create),
        migrations.AddField(
            model_name='measurement',
            name='concurrency',
            field=models.PositiveIntegerField(default=1, help_text='queries in flight at once'),
        ),
        migrations.AddField(
            model_name='measurement',
            name='latency_bound_ms',
            field=models.FloatField(blank=True, help_text='of a percentile, in the server scenario', null=True),
        ),
        migrations.AddConstraint(
            model_name='measurement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('concurrency', 1), models.Q(('concurrency__gt', 1), ('scenario', 'server')), _connector='OR'), models.Q(('latency_bound_ms', None), models.Q(('latency_bound_ms__gte', 0), ('scenario', 'server')), _connector='OR')), name='measurement_load_of_server'),
        ),
        migrations.RunPython(laws.create, laws.drop),
    ]
