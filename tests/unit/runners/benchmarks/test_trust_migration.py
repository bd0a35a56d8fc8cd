"""Rows that were there before trust and the longer keys: carried over by the migration."""

from __future__ import annotations

from importlib import import_module

import pytest

from runners.engine.benchmark import comparability, power
from runners.engine.benchmark import record as form
from tests.engine.benchmark import timings

migration = import_module("runners.migrations.0009_trusted_rows")


def old(version=2, **changed):
    processes = [timings.process(k, meter_j={"intel-rapl:0": 1.0 + k / 10}) for k in range(1, 11)]
    told = {
        "provenance": "measured",
        "method": power.RAPL,
        "meters": ["intel-rapl:0"],
    }
    made = timings.record(
        processes,
        power=told,
        grid=power.grid("FRA"),
        format_version=version,
        method="3" if version == 2 else "1",
        **changed,
    )
    return form.without_samples(made)


def test_a_key_gets_the_fields_of_the_machine_from_the_stored_environment():
    around = {name: f"some {name}" for name in migration.MACHINE}
    for version in (1, 2):
        record = old(version, environment=timings.ENVIRONMENT | around)
        key = migration.key_of(record)["comparability_key"]
        assert key != record["comparability_key"]
        for name in migration.MACHINE:
            other = timings.ENVIRONMENT | around | {name: "another"}
            changed = old(version, environment=other)
            assert changed["comparability_key"] == record["comparability_key"]
            assert migration.key_of(changed)["comparability_key"] != key, name


def test_a_key_of_a_record_that_would_be_made_today_is_the_same():
    """Of one method, the key that is carried over is the one that records have now."""
    record = form.without_samples(timings.record(method="3"))
    before = {**record["comparability"]}
    for name in (*migration.MACHINE, "cgroup_cpu_limit", "warmup", "timed"):
        del before[name]
    key = migration.key_of(record | {"comparability": before})["comparability_key"]
    assert key == record["comparability_key"]
    assert set(migration.MACHINE) == set(comparability.machine_of({}))


def test_figures_become_totals_over_totals():
    record = old()
    energy = record["energy"]
    found = migration.figures_of(record)
    assert energy["j_per_inference"] != energy["energy_j"] / energy["inferences"]
    assert found["energy_j"] == pytest.approx(energy["energy_j"] / energy["inferences"], rel=1e-5)
    assert found["carbon_g"] == pytest.approx(found["energy_j"] / 3.6e6 * 56.0, rel=1e-4)
    seconds = sum(one["wall_s"] for one in record["processes"])
    assert found["throughput_per_s"] == pytest.approx(2000 / seconds, rel=1e-5)


def test_what_holds_nothing_stays():
    assert migration.key_of({}) == {}
    assert migration.figures_of({}) == {}
