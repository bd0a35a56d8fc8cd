"""The last head of the log of a mirror's source."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0022_watch_digests'),
    ]

    operations = [
        migrations.CreateModel(
            name='SourceHead',
            fields=[
                ('mirror', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='source_head', serialize=False, to='registry.mirror')),
                ('key', models.TextField()),
                ('checkpoint', models.TextField()),
                ('at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
    ]
