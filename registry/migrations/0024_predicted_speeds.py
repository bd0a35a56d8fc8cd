"""Intervals of listed speeds, and speeds that are predicted where nothing was measured."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0022_dataset_laws'),
    ]

    operations = [
        migrations.AddField(
            model_name='documentspeed',
            name='p50_low_ms',
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='documentspeed',
            name='p50_high_ms',
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name='PredictedSpeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('variant', models.BigIntegerField(help_text='the id of the main variant that it is made for')),
                ('device', models.CharField(max_length=96)),
                ('device_title', models.CharField(max_length=200)),
                ('runtime', models.CharField(max_length=32)),
                ('provider', models.CharField(blank=True, default='', max_length=64)),
                ('p50_ms', models.FloatField()),
                ('low_ms', models.FloatField()),
                ('high_ms', models.FloatField()),
                ('models_measured', models.PositiveIntegerField(help_text='models that the fit was made from')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='predictions', to='registry.searchdocument')),
            ],
            options={
                'ordering': ['document', 'device', 'runtime', 'provider'],
                'indexes': [
                    models.Index(fields=['device', 'runtime', 'provider', 'p50_ms', 'document'], name='predictedspeed_in_setup'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=['document', 'device', 'runtime', 'provider'], name='predictedspeed_unique'),
                    models.CheckConstraint(condition=Q(low_ms__gt=0, low_ms__lte=F('p50_ms'), high_ms__gte=F('p50_ms')), name='predictedspeed_in_order'),
                ],
            },
        ),
    ]
