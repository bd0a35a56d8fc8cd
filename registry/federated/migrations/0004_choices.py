"""Roles that maintainers choose, drawn participants, client certificates, scores of rounds."""

from importlib import import_module

from django.db import migrations, models

from registry.core import laws

BEFORE = import_module("registry.federated.migrations.0002_laws").LAWS

# Those of the same name take the place of the laws before.
CHANGED = [
    (
        "law_training_kept", "federated_training", "UPDATE",
        laws.changed("uuid", "model_id", "number", "base_id", "entry", "roles"),
        "a training keeps what it began with",
    ),
    (
        "law_training_rules", "federated_training", "UPDATE",
        "OLD.state <> 'draft' AND "
        + laws.changed("rules", "schedule", "layout", "layout_sha256", "graph_sha256",
                       "skeleton_sha256", "selection_seed"),
        "the rules and the schema of a training never change once it is open",
    ),
    (
        "law_training_noise", "federated_training", "UPDATE",
        "NEW.state = 'open' AND OLD.state <> 'open' "
        "AND CAST(NEW.rules AS TEXT) LIKE '%\"noise_multiplier\": %' "
        "AND CAST(NEW.rules AS TEXT) NOT LIKE '%\"noise_multiplier\": null%' "
        "AND CAST(NEW.layout AS TEXT) LIKE '%\"role\": \"statistic\"%'",
        "statistics are not trained under noise",
    ),
    (
        "law_round_kept", "federated_round", "UPDATE",
        laws.changed("training_id", "number", "mode", "base_sha256", "nonce", "quorum", "target",
                     "examples_cap", "selected", "seed", "candidates", "opened_at", "deadline")
        + " OR " + laws.gained("base_id"),
        "a round keeps what it began with",
    ),
    (
        "law_contribution_selected", "federated_contribution", "INSERT",
        "EXISTS (SELECT 1 FROM federated_round AS task, federated_participant AS sender "
        "WHERE task.id = NEW.answers_id AND sender.id = NEW.participant_id "
        "AND task.selected IS NOT NULL "
        "AND CAST(task.selected AS TEXT) NOT LIKE '%\"' || sender.pseudonym || '\"%')",
        "a round for some participants takes no contribution of others",
    ),
]  # fmt: skip
LAWS = list({law[0]: law for law in [*BEFORE, *CHANGED]}.values())

HEX64 = "^[0-9a-f]{64}$"


def or_empty(table, field):
    """The check that a column is empty, or 64 hex digits."""
    return migrations.AddConstraint(
        table,
        models.CheckConstraint(
            condition=models.Q((field, ""), (f"{field}__regex", HEX64), _connector="OR"),
            name=f"{table}_{field}_pattern",
        ),
    )


class Migration(migrations.Migration):
    dependencies = [("federated", "0003_fleets")]
    operations = [
        laws.lifted(BEFORE),
        migrations.AddField(
            "participant",
            "certificate",
            models.CharField(
                blank=True, default="", help_text="SHA-256 of the TLS client's; empty is any",
                max_length=64,
            ),
        ),
        migrations.AddField(
            "round", "candidates",
            models.PositiveIntegerField(default=0, help_text="of whom they were drawn"),
        ),
        migrations.AddField(
            "round",
            "score",
            models.FloatField(
                blank=True, help_text="on held-out data; of maintainers", null=True
            ),
        ),
        migrations.AddField(
            "round",
            "seed",
            models.CharField(
                blank=True, default="", help_text="by which the selected were drawn", max_length=64
            ),
        ),
        migrations.AddField(
            "training",
            "release_best",
            models.CharField(
                blank=True, choices=[("highest", "Highest"), ("lowest", "Lowest")], default="",
                help_text="score; empty is none", max_length=7,
            ),
        ),
        migrations.AddField(
            "training",
            "roles",
            models.JSONField(blank=True, default=dict, help_text="patterns of names, by role"),
        ),
        migrations.AddField(
            "training",
            "selection_seed",
            models.CharField(
                blank=True, default="",
                help_text="of rounds' draws; secret while it goes on", max_length=64,
            ),
        ),
        migrations.AlterField(
            "training",
            "refusal",
            models.JSONField(blank=True, default=list, help_text="why it cannot be opened"),
        ),
        or_empty("participant", "certificate"),
        or_empty("round", "seed"),
        migrations.AddConstraint(
            "round",
            models.CheckConstraint(
                condition=models.Q(("seed", ""), ("selected__isnull", False), _connector="OR"),
                name="round_seed_drew",
            ),
        ),
        migrations.AddConstraint(
            "round",
            models.CheckConstraint(
                condition=models.Q(
                    ("score__isnull", True), ("state", "aggregated"), _connector="OR"
                ),
                name="round_score_of_result",
            ),
        ),
        migrations.AddConstraint(
            "training",
            models.CheckConstraint(
                condition=models.Q(
                    ("release_best", ""),
                    ("release_best__in", ["highest", "lowest"]),
                    _connector="OR",
                ),
                name="training_release_best_known",
            ),
        ),
        or_empty("training", "selection_seed"),
        laws.set_by(LAWS),
    ]  # fmt: skip
