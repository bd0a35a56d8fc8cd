import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0004_derived_variants'),
        ('runners', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('worker', models.CharField(max_length=100)),
                ('host', models.CharField(blank=True, default='', max_length=100)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('outcome', models.CharField(choices=[('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('errored', 'Errored'), ('crashed', 'Crashed'), ('timed-out', 'Timed Out'), ('lost', 'Lost'), ('cancelled', 'Cancelled')], default='running', help_text='how it ended', max_length=10)),
                ('detail', models.TextField(blank=True, default='')),
            ],
            options={
                'ordering': ['job', 'number', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('outcome__in', ['running', 'succeeded', 'failed', 'errored', 'crashed', 'timed-out', 'lost', 'cancelled'])), name='attempt_outcome_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('outcome', 'running')), models.Q(models.Q(('outcome', 'running'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='attempt_ended_has_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Bar',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=64)),
                ('kind', models.CharField(max_length=20)),
                ('runtime', models.CharField(blank=True, default='', max_length=30)),
                ('detail', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-created_at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('reserved_until', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.RemoveIndex(
            model_name='job',
            name='job_waiting',
        ),
        migrations.AddField(
            model_name='job',
            name='gpu',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='job',
            name='host',
            field=models.CharField(blank=True, default='', max_length=100),
        ),
        migrations.AddField(
            model_name='job',
            name='queue',
            field=models.CharField(default='cpu', max_length=64),
        ),
        migrations.AddField(
            model_name='job',
            name='subject',
            field=models.CharField(blank=True, default='', help_text='SHA-256 of the file it works on', max_length=64),
        ),
        migrations.AddField(
            model_name='worker',
            name='slots',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AlterField(
            model_name='worker',
            name='pool',
            field=models.CharField(max_length=200),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['queue', 'priority', 'queued_at'], name='job_waiting'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('pool__regex', '^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)$')), name='job_pool_pattern'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('queue__regex', '^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)(\\.[a-z0-9-]{1,30})?$')), name='job_queue_pattern'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running']), ('version', None)), fields=('key',), name='job_live_key_unique_alone'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('exclusive', 'host'), ('state', 'running')), fields=('host',), name='job_one_exclusive_per_host'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'running'), models.Q(('gpu', ''), _negated=True)), fields=('gpu',), name='job_one_per_gpu'),
        ),
        migrations.AddField(
            model_name='attempt',
            name='job',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='runners.job'),
        ),
        migrations.AddField(
            model_name='bar',
            name='job',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='bars', to='runners.job'),
        ),
        migrations.AddField(
            model_name='bar',
            name='namespace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='registry.namespace'),
        ),
        migrations.AddField(
            model_name='bar',
            name='lifted_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='host',
            name='reserved_for',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runners.job'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('job', 'number'), name='attempt_number_unique'),
        ),
        migrations.AddConstraint(
            model_name='bar',
            constraint=models.UniqueConstraint(condition=models.Q(('lifted_at', None)), fields=('namespace', 'subject', 'kind', 'runtime'), name='bar_standing_unique'),
        ),
        migrations.AddConstraint(
            model_name='bar',
            constraint=models.CheckConstraint(condition=models.Q(('lifted_at', None), ('lifted_by__isnull', False), _connector='OR'), name='bar_lifted_by_one'),
        ),
    ]
