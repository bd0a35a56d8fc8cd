"""Mirrors of other servers, their models, and where versions came from."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0027_commits_before_models_and_their_tags'),
    ]

    operations = [
        migrations.CreateModel(
            name='Mirror',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(help_text='origin of the source, without a path', max_length=300)),
                ('protocol', models.CharField(choices=[('hub', 'Hub'), ('huggingface', 'Huggingface')], max_length=12)),
                ('scope', models.CharField(choices=[('model', 'Model'), ('namespace', 'Namespace'), ('search', 'Search')], max_length=10)),
                ('selector', models.CharField(help_text='model, namespace or search text there', max_length=200)),
                ('visibility', models.CharField(blank=True, choices=[('public', 'Public'), ('private', 'Private')], default='', help_text='of the models made; empty: as at the source', max_length=8)),
                ('pull_through', models.BooleanField(default=False)),
                ('interval_seconds', models.PositiveIntegerField(default=3600)),
                ('is_paused', models.BooleanField(default=False)),
                ('sealed_token', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('claim', models.UUIDField(blank=True, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True, default='')),
                ('step', models.CharField(blank=True, default='', max_length=300)),
                ('received_bytes', models.BigIntegerField(default=0, help_text='of the last synchronisation')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='mirrors', to=settings.AUTH_USER_MODEL)),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrors', to='registry.namespace')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='MirroredModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ref', models.CharField(max_length=200)),
                ('problem', models.TextField(blank=True, default='')),
                ('requested_at', models.DateTimeField(blank=True, null=True)),
                ('synced_at', models.DateTimeField(blank=True, null=True)),
                ('mirror', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrored', to='registry.mirror')),
                ('model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mirrored', to='registry.registeredmodel')),
            ],
            options={
                'ordering': ['ref', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='MirroredVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('checking', 'Checking'), ('stored', 'Stored'), ('refused', 'Refused'), ('conflict', 'Conflict'), ('failed', 'Failed')], max_length=10)),
                ('problem', models.TextField(blank=True, default='')),
                ('url', models.CharField(max_length=300)),
                ('ref', models.CharField(max_length=200)),
                ('source_state', models.CharField(default='published', max_length=10)),
                ('commit_id', models.CharField(blank=True, default='', max_length=40)),
                ('manifest_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('author', models.CharField(blank=True, default='', max_length=300)),
                ('published_at', models.CharField(blank=True, default='', max_length=40)),
                ('statements', models.JSONField(blank=True, default=list)),
                ('stated_at', models.DateTimeField(blank=True, null=True)),
                ('fetched_at', models.DateTimeField(auto_now_add=True)),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mirrored_versions', to='registry.registeredmodel')),
                ('version', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='mirrored_from', to='registry.version')),
            ],
            options={
                'ordering': ['model_id', 'number', 'pk'],
            },
        ),
        migrations.AddIndex(
            model_name='mirror',
            index=models.Index(fields=['is_paused', 'next_at'], name='mirror_due'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.CheckConstraint(condition=models.Q(('protocol__in', ['hub', 'huggingface'])), name='mirror_protocol_known'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.CheckConstraint(condition=models.Q(('scope__in', ['model', 'namespace', 'search'])), name='mirror_scope_known'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.UniqueConstraint(fields=('namespace', 'url', 'scope', 'selector'), name='mirror_source_unique'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.UniqueConstraint(condition=models.Q(('pull_through', True)), fields=('namespace',), name='mirror_pull_unique'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.CheckConstraint(condition=models.Q(('pull_through', False), ('scope', 'namespace'), _connector='OR'), name='mirror_pull_has_namespace'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.CheckConstraint(condition=models.Q(('interval_seconds__gte', 60), ('interval_seconds__lte', 2592000)), name='mirror_interval_bounded'),
        ),
        migrations.AddConstraint(
            model_name='mirror',
            constraint=models.CheckConstraint(condition=models.Q(('visibility', ''), ('visibility__in', ['public', 'private']), _connector='OR'), name='mirror_visibility_known'),
        ),
        migrations.AddConstraint(
            model_name='mirroredmodel',
            constraint=models.UniqueConstraint(fields=('mirror', 'ref'), name='mirroredmodel_unique'),
        ),
        migrations.AddConstraint(
            model_name='mirroredmodel',
            constraint=models.UniqueConstraint(condition=models.Q(('model__isnull', False)), fields=('model',), name='mirroredmodel_one_source'),
        ),
        migrations.AddConstraint(
            model_name='mirroredversion',
            constraint=models.UniqueConstraint(fields=('model', 'number'), name='mirroredversion_unique'),
        ),
        migrations.AddConstraint(
            model_name='mirroredversion',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['checking', 'stored', 'refused', 'conflict', 'failed'])), name='mirroredversion_state_known'),
        ),
        migrations.AddConstraint(
            model_name='mirroredversion',
            constraint=models.CheckConstraint(condition=models.Q(('manifest_sha256', ''), ('manifest_sha256__regex', '^[0-9a-f]{64}$'), _connector='OR'), name='mirroredversion_manifest_sha256_pattern'),
        ),
        migrations.AddConstraint(
            model_name='mirroredversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['refused', 'conflict', 'failed']), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='mirroredversion_problem_stated'),
        ),
    ]
