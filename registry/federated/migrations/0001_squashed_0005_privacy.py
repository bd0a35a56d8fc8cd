"""The tables of trainings at once, for a new database: the migrations before remain for others."""

import uuid
from importlib import import_module

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from registry.core import laws

LAWS = import_module("registry.federated.migrations.0005_privacy").LAWS


class Migration(migrations.Migration):

    replaces = [("federated", "0001_initial"), ("federated", "0002_laws"), ("federated", "0003_fleets"), ("federated", "0004_choices"), ("federated", "0005_privacy")]

    initial = True

    dependencies = [
        ("registry", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Training",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("model", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="trainings", to="registry.registeredmodel")),
                ("number", models.PositiveIntegerField()),
                ("base", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="trainings", to="registry.version")),
                ("base_data", models.CharField(choices=[("unknown", "Unknown"), ("untrained", "Untrained"), ("public", "Public")], default="unknown", help_text="what an uploaded base was trained on, as maintainers declare it", max_length=9)),
                ("entry", models.CharField(max_length=512)),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                ("state", models.CharField(choices=[("draft", "Draft"), ("open", "Open"), ("paused", "Paused"), ("finished", "Finished"), ("cancelled", "Cancelled")], default="draft", max_length=10)),
                ("opens_itself", models.BooleanField(default=False)),
                ("roles", models.JSONField(blank=True, default=dict, help_text="patterns of names, by role")),
                ("refusal", models.JSONField(blank=True, default=list, help_text="why it cannot be opened")),
                ("layout", models.JSONField(blank=True, default=list, help_text="name, dtype, shape and role")),
                ("layout_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("graph_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("skeleton_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("skeleton", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("weights", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("optimiser", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("rules", models.JSONField(default=dict)),
                ("schedule", models.JSONField(default=dict)),
                ("selection_seed", models.CharField(blank=True, default="", help_text="of rounds' draws; secret while it goes on", max_length=64)),
                ("hyperparameters", models.JSONField(blank=True, default=dict, help_text="told to devices as is")),
                ("release_every", models.PositiveIntegerField(default=10, help_text="rounds; 0 is on request")),
                ("release_best", models.CharField(blank=True, choices=[("highest", "Highest"), ("lowest", "Lowest")], default="", help_text="score; empty is none", max_length=7)),
                ("release_publishes", models.BooleanField(default=True)),
                ("reason", models.TextField(blank=True, default="")),
                ("created_by", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="trainings", to=settings.AUTH_USER_MODEL)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-number", "-pk"],
                "constraints": [models.UniqueConstraint(fields=("model", "number"), name="training_number_unique"), models.CheckConstraint(condition=models.Q(("number__gte", 1)), name="training_number_positive"), models.CheckConstraint(condition=models.Q(("state__in", ["draft", "open", "paused", "finished", "cancelled"])), name="training_state_known"), models.CheckConstraint(condition=models.Q(("base_data__in", ["unknown", "untrained", "public"])), name="training_base_data_known"), models.CheckConstraint(condition=models.Q(("release_best", ""), ("release_best__in", ["highest", "lowest"]), _connector="OR"), name="training_release_best_known"), models.CheckConstraint(condition=models.Q(("selection_seed", ""), ("selection_seed__regex", "^[0-9a-f]{64}$"), _connector="OR"), name="training_selection_seed_pattern"), models.CheckConstraint(condition=models.Q(("state__in", ["draft", "cancelled"]), models.Q(("layout_sha256__regex", "^[0-9a-f]{64}$"), ("opened_at__isnull", False)), _connector="OR"), name="training_open_has_schema")],
            },
        ),
        migrations.CreateModel(
            name="Fleet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="fleets", to="registry.registeredmodel")),
                ("name", models.CharField(max_length=64)),
                ("token_digest", models.CharField(max_length=64, unique=True)),
                ("stable", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.version")),
                ("desired", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.version")),
                ("percent", models.PositiveSmallIntegerField(default=0)),
                ("required_by", models.DateTimeField(blank=True, null=True)),
                ("halt_percent", models.PositiveSmallIntegerField(default=0, help_text="share of failures that halts a rollout; 0 is none")),
                ("is_halted", models.BooleanField(default=False)),
                ("created_by", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["name", "pk"],
                "constraints": [models.UniqueConstraint(fields=("model", "name"), name="fleet_name_unique"), models.CheckConstraint(condition=models.Q(("name__regex", "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$")), name="fleet_name_pattern"), models.CheckConstraint(condition=models.Q(("token_digest__regex", "^[0-9a-f]{64}$")), name="fleet_token_digest_pattern"), models.CheckConstraint(condition=models.Q(("percent__lte", 100), ("halt_percent__lte", 100)), name="fleet_percent")],
            },
        ),
        migrations.CreateModel(
            name="Invite",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("training", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="invites", to="federated.training")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("group", models.CharField(blank=True, default="", max_length=64)),
                ("uses", models.PositiveIntegerField(default=1)),
                ("used", models.PositiveIntegerField(default=0)),
                ("created_by", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [models.CheckConstraint(condition=models.Q(("digest__regex", "^[0-9a-f]{64}$")), name="invite_digest_pattern"), models.CheckConstraint(condition=models.Q(("used__lte", models.F("uses"))), name="invite_used_up")],
            },
        ),
        migrations.CreateModel(
            name="Participant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("training", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="participants", to="federated.training")),
                ("pseudonym", models.CharField(max_length=24, unique=True)),
                ("public_key", models.CharField(help_text="Ed25519, base64url", max_length=43)),
                ("token_digest", models.CharField(max_length=64, unique=True)),
                ("certificate", models.CharField(blank=True, default="", help_text="SHA-256 of the TLS client's; empty is any", max_length=64)),
                ("group", models.CharField(blank=True, default="", max_length=64)),
                ("state", models.CharField(choices=[("active", "Active"), ("suspended", "Suspended"), ("revoked", "Revoked")], default="active", max_length=9)),
                ("runtime", models.CharField(blank=True, default="", max_length=100)),
                ("capabilities", models.JSONField(blank=True, default=dict)),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [models.CheckConstraint(condition=models.Q(("state__in", ["active", "suspended", "revoked"])), name="participant_state_known"), models.CheckConstraint(condition=models.Q(("token_digest__regex", "^[0-9a-f]{64}$")), name="participant_token_digest_pattern"), models.CheckConstraint(condition=models.Q(("certificate", ""), ("certificate__regex", "^[0-9a-f]{64}$"), _connector="OR"), name="participant_certificate_pattern"), models.UniqueConstraint(fields=("training", "public_key"), name="participant_key_unique"), models.CheckConstraint(condition=models.Q(models.Q(("state", "revoked"), _negated=True), ("ended_at__isnull", False), _connector="OR"), name="participant_revoked_has_time")],
            },
        ),
        migrations.CreateModel(
            name="Round",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("training", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="rounds", to="federated.training")),
                ("number", models.PositiveIntegerField()),
                ("mode", models.CharField(choices=[("sync", "Sync"), ("buffered", "Buffered")], default="sync", max_length=8)),
                ("state", models.CharField(choices=[("open", "Open"), ("closing", "Closing"), ("aggregated", "Aggregated"), ("failed", "Failed"), ("cancelled", "Cancelled")], default="open", max_length=10)),
                ("base_sha256", models.CharField(max_length=64)),
                ("base", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("nonce", models.CharField(max_length=32, unique=True)),
                ("quorum", models.PositiveIntegerField()),
                ("target", models.PositiveIntegerField(help_text="accepted contributions that end it; 0 is none")),
                ("examples_cap", models.PositiveIntegerField()),
                ("selected", models.JSONField(blank=True, help_text="pseudonyms; null is anyone", null=True)),
                ("seed", models.CharField(blank=True, default="", help_text="by which the selected were drawn", max_length=64)),
                ("candidates", models.PositiveIntegerField(default=0, help_text="of whom they were drawn")),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deadline", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("grace_until", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, default="", max_length=32)),
                ("score", models.FloatField(blank=True, help_text="on held-out data; of maintainers", null=True)),
                ("release_asked", models.BooleanField(default=False)),
                ("version", models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="federated_round", to="registry.version")),
            ],
            options={
                "ordering": ["-number", "-pk"],
                "indexes": [models.Index(condition=models.Q(("state__in", ["open", "closing"])), fields=["state", "deadline"], name="round_live")],
                "constraints": [models.UniqueConstraint(fields=("training", "number"), name="round_number_unique"), models.UniqueConstraint(condition=models.Q(("state__in", ["open", "closing"])), fields=("training",), name="round_one_live"), models.CheckConstraint(condition=models.Q(("state__in", ["open", "closing", "aggregated", "failed", "cancelled"])), name="round_state_known"), models.CheckConstraint(condition=models.Q(("mode__in", ["sync", "buffered"])), name="round_mode_known"), models.CheckConstraint(condition=models.Q(("base_sha256__regex", "^[0-9a-f]{64}$")), name="round_base_sha256_pattern"), models.CheckConstraint(condition=models.Q(("nonce__regex", "^[0-9a-f]{32}$")), name="round_nonce_pattern"), models.CheckConstraint(condition=models.Q(("quorum__gte", 1)), name="round_quorum_positive"), models.CheckConstraint(condition=models.Q(("target", 0), ("target__gte", models.F("quorum")), _connector="OR"), name="round_target_reaches"), models.CheckConstraint(condition=models.Q(("state", "open"), ("closed_at__isnull", False), _connector="OR"), name="round_closed_has_time"), models.CheckConstraint(condition=models.Q(models.Q(("state", "failed"), _negated=True), models.Q(("reason", ""), _negated=True), _connector="OR"), name="round_failed_has_reason"), models.CheckConstraint(condition=models.Q(("seed", ""), ("seed__regex", "^[0-9a-f]{64}$"), _connector="OR"), name="round_seed_pattern"), models.CheckConstraint(condition=models.Q(("seed", ""), ("selected__isnull", False), _connector="OR"), name="round_seed_drew"), models.CheckConstraint(condition=models.Q(("score__isnull", True), ("state", "aggregated"), _connector="OR"), name="round_score_of_result"), models.CheckConstraint(condition=models.Q(("state__in", ["open", "closing"]), ("ended_at__isnull", False), _connector="OR"), name="round_ended_has_time")],
            },
        ),
        migrations.CreateModel(
            name="FleetDevice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fleet", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="devices", to="federated.fleet")),
                ("device", models.CharField(max_length=100)),
                ("running", models.CharField(max_length=64)),
                ("result", models.CharField(choices=[("ok", "Ok"), ("failed", "Failed")], max_length=6)),
                ("detail", models.CharField(blank=True, default="", max_length=500)),
                ("reported_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["device", "pk"],
                "constraints": [models.UniqueConstraint(fields=("fleet", "device"), name="fleetdevice_unique"), models.CheckConstraint(condition=models.Q(("running__regex", "^[0-9a-f]{64}$")), name="fleetdevice_running_pattern"), models.CheckConstraint(condition=models.Q(("result__in", ["ok", "failed"])), name="fleetdevice_result_known")],
            },
        ),
        migrations.CreateModel(
            name="Contribution",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("round", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="contributions", to="federated.round")),
                ("answers", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="federated.round")),
                ("participant", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="contributions", to="federated.participant")),
                ("state", models.CharField(choices=[("received", "Received"), ("accepted", "Accepted"), ("rejected", "Rejected"), ("late", "Late"), ("used", "Used")], default="received", max_length=8)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.BigIntegerField()),
                ("blob", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("n", models.PositiveBigIntegerField(help_text="examples it was made from, as its sender says")),
                ("encoding", models.CharField(max_length=24)),
                ("base_sha256", models.CharField(max_length=64)),
                ("staleness", models.PositiveIntegerField(default=0, help_text="rounds behind; buffered only")),
                ("manifest", models.TextField()),
                ("signature", models.CharField(max_length=86)),
                ("received_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0, help_text="checks without a verdict")),
                ("problem", models.CharField(blank=True, default="", max_length=40)),
                ("tensor", models.CharField(blank=True, default="", max_length=512)),
                ("detail", models.CharField(blank=True, default="", max_length=1000)),
                ("figures", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["participant", "pk"],
                "indexes": [models.Index(condition=models.Q(("state", "received")), fields=["round"], name="contribution_waiting")],
                "constraints": [models.UniqueConstraint(fields=("round", "participant"), name="contribution_once_per_round"), models.UniqueConstraint(fields=("answers", "participant"), name="contribution_once_per_task"), models.CheckConstraint(condition=models.Q(("state__in", ["received", "accepted", "rejected", "late", "used"])), name="contribution_state_known"), models.CheckConstraint(condition=models.Q(("sha256__regex", "^[0-9a-f]{64}$")), name="contribution_sha256_pattern"), models.CheckConstraint(condition=models.Q(("blob__isnull", True), ("blob", models.F("sha256")), _connector="OR"), name="contribution_blob_is_its_digest"), models.CheckConstraint(condition=models.Q(("n__gte", 1)), name="contribution_n_positive"), models.CheckConstraint(condition=models.Q(models.Q(("state", "rejected"), _negated=True), models.Q(("problem", ""), _negated=True), _connector="OR"), name="contribution_rejected_has_problem")],
            },
        ),
        migrations.CreateModel(
            name="Aggregate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("round", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="aggregate", to="federated.round")),
                ("rules", models.JSONField()),
                ("inputs", models.JSONField()),
                ("left_out", models.JSONField(blank=True, default=dict)),
                ("examples", models.PositiveBigIntegerField(default=0)),
                ("seed", models.CharField(blank=True, default="", help_text="of noise; secret", max_length=64)),
                ("engine", models.JSONField(blank=True, default=dict)),
                ("job_uuid", models.UUIDField(blank=True, null=True)),
                ("result_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("result", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("optimiser_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("optimiser", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="registry.blob")),
                ("figures", models.JSONField(blank=True, default=dict)),
                ("planned_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [models.CheckConstraint(condition=models.Q(("result_sha256", ""), models.Q(("result_sha256__regex", "^[0-9a-f]{64}$"), ("made_at__isnull", False)), _connector="OR"), name="aggregate_made_has_time")],
            },
        ),
        laws.set_by(LAWS),
    ]
