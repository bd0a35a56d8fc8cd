"""Laws of trainings, kept by triggers on SQLite and PostgreSQL alike, as in the registry's.

A refusal arrives as IntegrityError.
"""

from django.db import migrations

from registry.core import laws

_ROUND = "(SELECT {} FROM federated_round WHERE id = NEW.round_id)"

# Name, table, event, and the condition under which the change is refused.
LAWS = [
    (
        "law_training_kept", "federated_training", "UPDATE",
        laws.changed("uuid", "model_id", "number", "base_id", "base_data", "entry", "roles"),
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
        "law_training_states", "federated_training", "UPDATE",
        "OLD.state <> NEW.state AND (OLD.state IN ('finished', 'cancelled') "
        "OR NEW.state = 'draft' OR (OLD.state = 'draft' AND NEW.state IN ('paused', 'finished')))",
        "a training does not go back to that state",
    ),
    (
        "law_training_not_deleted", "federated_training", "DELETE", "OLD.state <> 'draft'",
        "only a draft of a training is deleted",
    ),
    (
        "law_participant_kept", "federated_participant", "UPDATE",
        laws.changed("training_id", "pseudonym", "public_key"),
        "a participant keeps its key",
    ),
    (
        "law_participant_revoked", "federated_participant", "UPDATE",
        "OLD.state = 'revoked' AND NEW.state <> 'revoked'",
        "a revoked participant stays revoked",
    ),
    (
        "law_round_kept", "federated_round", "UPDATE",
        laws.changed("training_id", "number", "mode", "base_sha256", "nonce", "quorum", "target",
                     "examples_cap", "selected", "seed", "candidates", "opened_at", "deadline")
        + " OR " + laws.gained("base_id"),
        "a round keeps what it began with",
    ),
    (
        "law_round_states", "federated_round", "UPDATE",
        "OLD.state <> NEW.state AND (OLD.state IN ('aggregated', 'failed', 'cancelled') "
        "OR NEW.state = 'open' OR (OLD.state = 'open' AND NEW.state NOT IN ('closing', 'cancelled')))",
        "a round does not go to that state",
    ),
    (
        "law_round_aggregated", "federated_round", "UPDATE",
        "OLD.state <> 'aggregated' AND NEW.state = 'aggregated' AND NOT EXISTS (SELECT 1 FROM "
        "federated_aggregate WHERE round_id = NEW.id AND result_sha256 <> '')",
        "a round is aggregated when its aggregate is made",
    ),
    (
        "law_round_not_deleted", "federated_round", "DELETE", "1 = 1", "rounds are never deleted",
    ),
    (
        "law_contribution_open", "federated_contribution", "INSERT",
        f"{_ROUND.format('state')} NOT IN ('open', 'closing')",
        "a round that ended takes no contribution",
    ),
    (
        "law_contribution_cap", "federated_contribution", "INSERT",
        f"NEW.n > {_ROUND.format('examples_cap')}",
        "a contribution counts no more examples than its round lets",
    ),
    (
        "law_contribution_base", "federated_contribution", "INSERT",
        "NEW.base_sha256 <> (SELECT base_sha256 FROM federated_round WHERE id = NEW.answers_id) "
        f"OR ({_ROUND.format('mode')} = 'sync' AND NEW.answers_id <> NEW.round_id)",
        "a contribution starts from the base of the round that it answers",
    ),
    (
        "law_contribution_own", "federated_contribution", "INSERT",
        "(SELECT training_id FROM federated_participant WHERE id = NEW.participant_id) <> "
        f"{_ROUND.format('training_id')}",
        "a participant contributes to its own training",
    ),
    (
        "law_contribution_selected", "federated_contribution", "INSERT",
        "EXISTS (SELECT 1 FROM federated_round AS task, federated_participant AS sender "
        "WHERE task.id = NEW.answers_id AND sender.id = NEW.participant_id "
        "AND task.selected IS NOT NULL "
        "AND CAST(task.selected AS TEXT) NOT LIKE '%\"' || sender.pseudonym || '\"%')",
        "a round for some participants takes no contribution of others",
    ),
    (
        "law_contribution_kept", "federated_contribution", "UPDATE",
        laws.changed("round_id", "answers_id", "participant_id", "sha256", "size", "n", "encoding", "base_sha256",
                 "manifest", "signature", "received_at")
        + " OR " + laws.gained("blob_id"),
        "a contribution keeps what was signed",
    ),
    (
        "law_contribution_judged", "federated_contribution", "UPDATE",
        "OLD.state <> NEW.state AND (OLD.state IN ('rejected', 'late', 'used') "
        "OR NEW.state IN ('received', 'late') OR (NEW.state = 'used' AND OLD.state <> 'accepted') "
        f"OR {_ROUND.format('state')} NOT IN ('open', 'closing'))",
        "a contribution is judged while its round goes on, and once",
    ),
    (
        "law_contribution_not_deleted", "federated_contribution", "DELETE",
        "(SELECT state FROM federated_round WHERE id = OLD.round_id) <> 'open'",
        "a contribution is withdrawn while its round is open",
    ),
    (
        "law_aggregate_planned", "federated_aggregate", "INSERT",
        f"{_ROUND.format('state')} <> 'closing'",
        "what is being closed is aggregated",
    ),
    (
        "law_aggregate_kept", "federated_aggregate", "UPDATE",
        laws.changed("round_id", "rules", "inputs", "left_out", "examples", "seed", "planned_at")
        + " OR (OLD.result_sha256 <> '' AND ("
        + laws.changed("result_sha256", "optimiser_sha256", "engine", "figures", "made_at")
        + " OR " + laws.gained("result_id", "optimiser_id") + "))",
        "an aggregate never changes",
    ),
    (
        "law_aggregate_not_deleted", "federated_aggregate", "DELETE", "1 = 1",
        "aggregates are never deleted",
    ),
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("federated", "0001_tables")]
    operations = [laws.set_by(LAWS)]
