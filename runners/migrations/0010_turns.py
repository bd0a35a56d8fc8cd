"""Waiting jobs get their turn by priority and age."""

from datetime import timedelta

import django.utils.timezone
from django.db import migrations, models
from django.db.models import F

STEP = timedelta(minutes=10)


def fill(apps, schema_editor):
    """Give the jobs that wait the turn that they would have got."""
    waiting = apps.get_model("runners", "Job").objects.filter(state="queued")
    for priority in waiting.values_list("priority", flat=True).order_by().distinct():
        waiting.filter(priority=priority).update(due_at=F("queued_at") + priority * STEP)


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0019_no_browser_evidence'),
        ('runners', '0009_trusted_rows'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='job',
            name='job_waiting',
        ),
        migrations.AddField(
            model_name='job',
            name='due_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='its turn, by priority and age'),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(fields=['ended_at'], name='attempt_by_end'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['queue', 'due_at'], name='job_waiting'),
        ),
    ]
