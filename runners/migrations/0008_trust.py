"""Whose word a result is; workers that administrators enrol, and challenges for records."""

from importlib import import_module

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

# Adding a column makes the table anew on SQLite, which loses its triggers.
laws = import_module("runners.migrations.0004_measurements")


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0016_counts_by_scope'),
        ('runners', '0007_conformance_counts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(laws.drop, laws.create),
        migrations.CreateModel(
            name='EnrolledWorker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64, unique=True)),
                ('public_key', models.CharField(help_text='Ed25519, base64url', max_length=43, unique=True)),
                ('enrolled_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('enrolled_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]+(-[a-z0-9]+)*$')), name='enrolledworker_name_pattern'),
                    models.CheckConstraint(condition=models.Q(('public_key__regex', '^[A-Za-z0-9_-]{43}$')), name='enrolledworker_public_key_pattern'),
                    models.CheckConstraint(condition=models.Q(('revoked_at', None), ('revoked_at__gte', models.F('enrolled_at')), _connector='OR'), name='enrolledworker_revoked_after'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Challenge',
            fields=[
                ('nonce', models.CharField(help_text='32 random bytes, in hex', max_length=64, primary_key=True, serialize=False)),
                ('issued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='registry.version')),
            ],
            options={
                'ordering': ['issued_at', 'nonce'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('nonce__regex', '^[0-9a-f]{64}$')), name='challenge_nonce_pattern'),
                    models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('issued_at'))), name='challenge_expires_later'),
                    models.CheckConstraint(condition=models.Q(('used_at', None), models.Q(('used_at__gte', models.F('issued_at')), ('used_at__lte', models.F('expires_at'))), _connector='OR'), name='challenge_used_in_time'),
                ],
            },
        ),
        migrations.AddField(
            model_name='measurement',
            name='signature',
            field=models.CharField(blank=True, default='', help_text='Ed25519, of what the worker signed', max_length=86),
        ),
        migrations.AddField(
            model_name='measurement',
            name='trust',
            # Of rows that are there already, until the next migration tells them apart.
            field=models.CharField(choices=[('hub', 'measured by a worker of this hub'), ('enrolled', 'signed by an enrolled worker'), ('unverified', 'sent by anybody')], default='unverified', max_length=10),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='measurement',
            name='enrolled_worker',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runners.enrolledworker'),
        ),
        migrations.RunPython(laws.create, laws.drop),
    ]
