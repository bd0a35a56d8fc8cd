"""Signatures of versions, which nobody changes or deletes, and the signers of namespaces."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from registry.core import laws

LAWS = [
    (
        f"law_versionsignature_{event.lower()}", "provenance_versionsignature", event, "1 = 1",
        "signatures are append-only",
    )
    for event in ("UPDATE", "DELETE")
]


class Migration(migrations.Migration):

    dependencies = [
        ('provenance', '0003_attestations'),
        ('registry', '0019_dataset_previews'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NamespaceSigner',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=100)),
                ('key', models.CharField(blank=True, default='', max_length=71)),
                ('authorities', models.TextField(blank=True, default='')),
                ('name', models.CharField(blank=True, default='', max_length=500)),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='declared_signers', to=settings.AUTH_USER_MODEL)),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='signers', to='registry.namespace')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'sha256'), name='namespacesigner_unique'), models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='namespacesigner_sha256_pattern'), models.CheckConstraint(condition=models.Q(models.Q(('authorities', ''), ('key__regex', '^sha256:[0-9a-f]{64}$'), ('name', '')), models.Q(('key', ''), models.Q(('authorities', ''), _negated=True)), _connector='OR'), name='namespacesigner_key_or_authorities')],
            },
        ),
        migrations.CreateModel(
            name='VersionSignature',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('bundle', models.TextField()),
                ('key', models.CharField(max_length=71)),
                ('public_key', models.TextField()),
                ('certificates', models.JSONField(blank=True, default=list)),
                ('names', models.JSONField(blank=True, default=list)),
                ('issuer', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='version_signatures', to=settings.AUTH_USER_MODEL)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='signatures', to='registry.version')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('version', 'sha256'), name='versionsignature_unique'), models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='versionsignature_sha256_pattern'), models.CheckConstraint(condition=models.Q(('key__regex', '^sha256:[0-9a-f]{64}$')), name='versionsignature_key_pattern')],
            },
        ),
        laws.set_by(LAWS),
    ]
