"""The tables of the graphs, with their constraints and indexes."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('registry', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='Revision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField(default=0)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('pk', 1)), name='revision_is_one_row'),
                ],
            },
        ),
        migrations.CreateModel(
            name='NamedGraph',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('iri', models.TextField(unique=True)),
                ('version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='graphs', to='registry.version')),
                ('nquads', models.TextField(blank=True, default='')),
                ('sha256', models.CharField(max_length=64)),
                ('revision', models.BigIntegerField(unique=True)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['iri', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='namedgraph_sha256_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GraphReference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('graph', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='references', to='metadata.namedgraph')),
                ('iri', models.TextField(db_index=True)),
            ],
            options={
                'ordering': ['iri', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('graph', 'iri'), name='graphreference_unique'),
                    models.CheckConstraint(condition=models.Q(('iri', ''), _negated=True), name='graphreference_has_iri'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ShapeReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shape_reports', to='registry.version')),
                ('profile', models.CharField(max_length=32)),
                ('shapes_title', models.CharField(max_length=100)),
                ('shapes_sha256', models.CharField(max_length=64)),
                ('official', models.BooleanField(default=False)),
                ('graph_sha256', models.CharField(max_length=64)),
                ('conforms', models.BooleanField()),
                ('count', models.PositiveIntegerField()),
                ('findings', models.JSONField(default=list)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['profile', 'pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('version', 'profile'), name='shapereport_unique'),
                    models.CheckConstraint(condition=models.Q(models.Q(('conforms', True), ('count', 0)), models.Q(('conforms', False), ('count__gt', 0)), _connector='OR'), name='shapereport_conforms_without_findings'),
                    models.CheckConstraint(condition=models.Q(('shapes_sha256__regex', '^[0-9a-f]{64}$')), name='shapereport_shapes_sha256_pattern'),
                    models.CheckConstraint(condition=models.Q(('graph_sha256__regex', '^[0-9a-f]{64}$')), name='shapereport_graph_sha256_pattern'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StoreState',
            fields=[
                ('store', models.TextField(primary_key=True, serialize=False)),
                ('home', models.TextField()),
                ('revision', models.BigIntegerField()),
                ('refused', models.JSONField(default=list)),
            ],
            options={
                'ordering': ['store'],
            },
        ),
        migrations.CreateModel(
            name='Comparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField()),
                ('ok', models.BooleanField()),
                ('detail', models.CharField(max_length=500)),
                ('address', models.TextField()),
                ('form', models.IntegerField()),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('pk', 1)), name='comparison_is_one_row'),
                ],
            },
        ),
    ]
