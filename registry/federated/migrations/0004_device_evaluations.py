"""Evaluations on devices: their tables, and the laws of these."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from registry.core import laws

_EVALUATION = (
    "(SELECT {} FROM federated_deviceevaluation AS evaluation "
    "JOIN federated_round AS compared ON compared.id = evaluation.round_id "
    "WHERE evaluation.id = {}.evaluation_id)"
)

LAWS = [
    (
        "law_deviceevaluation_result", "federated_deviceevaluation", "INSERT",
        "NOT EXISTS (SELECT 1 FROM federated_aggregate WHERE round_id = NEW.round_id "
        "AND result_sha256 = NEW.candidate_sha256)",
        "devices evaluate the result of the round",
    ),
    (
        "law_deviceevaluation_kept", "federated_deviceevaluation", "UPDATE",
        laws.changed("round_id", "nonce", "base_sha256", "candidate_sha256", "quorum", "target",
                     "opened_at", "deadline")
        + " OR " + laws.gained("base_id", "candidate_id"),
        "an evaluation keeps what it began with",
    ),
    (
        "law_deviceevaluation_ended", "federated_deviceevaluation", "UPDATE",
        "OLD.state <> 'open' AND " + laws.changed("state", "releases", "ended_at", "scores"),
        "an evaluation that ended never changes",
    ),
    (
        "law_deviceevaluation_not_deleted", "federated_deviceevaluation", "DELETE", "1 = 1",
        "evaluations are never deleted",
    ),
    (
        "law_devicereport_open", "federated_devicereport", "INSERT",
        _EVALUATION.format("evaluation.state", "NEW") + " <> 'open'",
        "an evaluation that ended takes no report",
    ),
    (
        "law_devicereport_own", "federated_devicereport", "INSERT",
        "(SELECT training_id FROM federated_participant WHERE id = NEW.participant_id) <> "
        + _EVALUATION.format("compared.training_id", "NEW"),
        "a participant reports to its own training",
    ),
    (
        "law_devicereport_cap", "federated_devicereport", "INSERT",
        "NEW.n > " + _EVALUATION.format("compared.examples_cap", "NEW"),
        "a report counts no more examples than its round lets",
    ),
    (
        "law_devicereport_kept", "federated_devicereport", "UPDATE",
        laws.changed("evaluation_id", "participant_id", "n", "base_right", "candidate_right",
                     "manifest", "signature", "received_at")
        + " OR (OLD.problem <> NEW.problem AND (OLD.problem <> '' OR "
        + _EVALUATION.format("evaluation.state", "NEW") + " <> 'open'))",
        "a report keeps what was signed, and counts or not when the evaluation ends",
    ),
    (
        "law_devicereport_not_deleted", "federated_devicereport", "DELETE", "1 = 1",
        "reports are never deleted",
    ),
]  # fmt: skip


class Migration(migrations.Migration):

    dependencies = [
        ('federated', '0003_enrolled_devices'),
        ('registry', '0023_source_heads'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeviceEvaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'Open'), ('passed', 'Passed'), ('failed', 'Failed'), ('below-quorum', 'Below Quorum'), ('cancelled', 'Cancelled')], default='open', max_length=12)),
                ('nonce', models.CharField(max_length=32, unique=True)),
                ('base_sha256', models.CharField(max_length=64)),
                ('candidate_sha256', models.CharField(max_length=64)),
                ('quorum', models.PositiveIntegerField()),
                ('target', models.PositiveIntegerField(help_text='reports that end it; 0 is none')),
                ('releases', models.BooleanField(default=False)),
                ('opened_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deadline', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('scores', models.JSONField(blank=True, default=dict)),
                ('base', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='registry.blob')),
                ('candidate', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='registry.blob')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='federated.round')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='DeviceReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('n', models.PositiveBigIntegerField(help_text='examples, as its sender says')),
                ('base_right', models.PositiveBigIntegerField()),
                ('candidate_right', models.PositiveBigIntegerField()),
                ('manifest', models.TextField()),
                ('signature', models.CharField(max_length=86)),
                ('problem', models.CharField(blank=True, default='', max_length=40)),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='federated.deviceevaluation')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='federated.participant')),
            ],
            options={
                'ordering': ['participant', 'pk'],
            },
        ),
        migrations.AddIndex(
            model_name='deviceevaluation',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['deadline'], name='deviceevaluation_open'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'passed', 'failed', 'below-quorum', 'cancelled'])), name='deviceevaluation_state_known'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('nonce__regex', '^[0-9a-f]{32}$')), name='deviceevaluation_nonce_pattern'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('base_sha256__regex', '^[0-9a-f]{64}$')), name='deviceevaluation_base_sha256_pattern'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('candidate_sha256__regex', '^[0-9a-f]{64}$')), name='deviceevaluation_candidate_sha256_pattern'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('round',), name='deviceevaluation_one_open'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('quorum__gte', 5)), name='deviceevaluation_quorum'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'open'), models.Q(('base', None), ('candidate', None), ('ended_at__isnull', False)), _connector='OR'), name='deviceevaluation_ended_holds_nothing'),
        ),
        migrations.AddConstraint(
            model_name='deviceevaluation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['passed', 'failed']), _negated=True), models.Q(('scores', {}), _negated=True), _connector='OR'), name='deviceevaluation_verdict_has_scores'),
        ),
        migrations.AddConstraint(
            model_name='devicereport',
            constraint=models.UniqueConstraint(fields=('evaluation', 'participant'), name='devicereport_once'),
        ),
        migrations.AddConstraint(
            model_name='devicereport',
            constraint=models.CheckConstraint(condition=models.Q(('base_right__lte', models.F('n')), ('candidate_right__lte', models.F('n')), ('n__gte', 1)), name='devicereport_right_of_all'),
        ),
        laws.set_by(LAWS),
    ]
