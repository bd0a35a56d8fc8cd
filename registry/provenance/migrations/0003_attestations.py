"""Signed statements about results, append-only by triggers on SQLite and PostgreSQL alike."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from registry.core import laws

_REFUSAL = "attestations are append-only"
LAWS = [
    (f"law_attestation_{event.lower()}", "provenance_attestation", event, "1 = 1", _REFUSAL)
    for event in ("UPDATE", "DELETE")
]


class Migration(migrations.Migration):

    dependencies = [
        ('provenance', '0002_laws'),
        ('registry', '0019_dataset_previews'),
    ]

    operations = [
        migrations.CreateModel(
            name='Attestation',
            fields=[
                ('leaf', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='provenance.logleaf')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=800)),
                ('run', models.CharField(max_length=80)),
                ('predicate_type', models.CharField(max_length=400)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('envelope', models.TextField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attestations', to='registry.registeredmodel')),
            ],
            options={
                'ordering': ['leaf'],
                'indexes': [models.Index(fields=['model', 'at'], name='attestation_newest')],
                'constraints': [models.UniqueConstraint(fields=('model', 'number', 'name', 'run', 'predicate_type'), name='attestation_once_per_run'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='attestation_digest_pattern')],
            },
        ),
        laws.set_by(LAWS),
    ]
