"""The files of tests that take longest, longest first: test processes side by side begin with them.

A long file that begins last leaves all processors but one idle until its end. The measure is the
processor time of `pytest -p no:xdist`, and for whole hubs what they wait for besides; an order that
is a little wrong costs little. A file that takes less than some seconds needs no place here.
"""

from __future__ import annotations

LONGEST_FIRST = (
    "tests/browser/test_behaviour.py",
    "tests/browser/test_graph.py",
    "tests/browser/test_try.py",
    "tests/browser/test_upload.py",
    "tests/faults/test_storage.py",
    "tests/integration/test_s3.py",
    "tests/integration/test_production.py",
    "tests/integration/test_rolling_upgrade.py",
    "tests/integration/test_mirrors.py",
    "tests/integration/test_backups.py",
    "tests/integration/test_outages.py",
    "tests/integration/test_images.py",
    "tests/integration/test_sparql_suite.py",
    "tests/integration/test_sparql_hostile.py",
    "tests/faults/test_kill.py",
    "tests/faults/test_hostile_texts.py",
    "tests/faults/test_push_killed.py",
    "tests/faults/test_quotas.py",
    "tests/faults/test_first_minute.py",
    "tests/faults/test_federated.py",
    "tests/faults/test_slow_clients.py",
    "tests/faults/test_web_processes.py",
    "tests/faults/test_federated_client.py",
    "tests/faults/test_reads.py",
    "tests/faults/test_races.py",
    "tests/faults/test_backups.py",
    "tests/faults/test_sign_in_load.py",
    "tests/contracts/test_wheel.py",
    "tests/contracts/test_documentation.py",
    "tests/engine/upgrades/test_upgrade_evidence.py",
    "tests/engine/confine/test_sandbox.py",
    "tests/engine/checks/test_check.py",
    "tests/engine/benchmark/test_benchmark.py",
    "tests/unit/metadata/sparql/test_listing.py",
    "tests/unit/runners/proofs/test_results_by_content.py",
    "tests/unit/frontend/proofs/test_proofs.py",
    "tests/unit/frontend/benchmarks/test_benchmarks.py",
    "tests/api/protocols/huggingface/test_writing.py",
    "tests/api/federated/test_federated.py",
    "tests/api/people/test_bound_tokens.py",
    "tests/api/benchmarks/test_benchmarks.py",
    "tests/api/federated/test_federated_privacy.py",
    "tests/api/test_reads.py",
    "tests/api/federated/test_federated_bounds.py",
    "tests/unit/frontend/tryouts/test_tryouts.py",
    "tests/unit/frontend/compare/test_compare.py",
    "tests/unit/frontend/models/test_lineage.py",
    "tests/api/versions/test_names.py",
    "tests/api/federated/test_federated_choices.py",
    "tests/unit/metadata/graphs/test_dataset_graphs.py",
    "tests/unit/frontend/models/test_provenance.py",
)  # fmt: skip


def put_first(items, root):
    """Order tests so that the longest files begin; all others keep their places behind them."""
    places = {root / path: place for place, path in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
