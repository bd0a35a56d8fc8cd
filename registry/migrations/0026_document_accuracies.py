"""Measured accuracy of listed models, for limits and an order of lists."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0025_personal_namespaces'),
    ]

    operations = [
        migrations.CreateModel(
            name='DocumentAccuracy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('metric', models.CharField(max_length=16)),
                ('dataset', models.CharField(max_length=96)),
                ('version', models.PositiveIntegerField(help_text='version of the data set')),
                ('split', models.CharField(max_length=200)),
                ('value', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('rows', models.PositiveIntegerField()),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='accuracies', to='registry.searchdocument')),
            ],
            options={
                'verbose_name_plural': 'document accuracies',
                'ordering': ['document', 'metric', 'dataset', 'split'],
                'indexes': [
                    models.Index(fields=['metric', 'dataset', 'value', 'document'], name='documentaccuracy_ranked'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=['document', 'metric', 'dataset', 'split'], name='documentaccuracy_unique'),
                    models.CheckConstraint(condition=Q(low__lte=F('high')), name='documentaccuracy_interval'),
                ],
            },
        ),
    ]
