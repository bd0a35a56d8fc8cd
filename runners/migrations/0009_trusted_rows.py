"""Rows that are there already: whose word they are, their keys and their figures of all processes.

The key of a row gets the fields that keys have since method 4, from the environment that the record
stores; what it does not store is "not-exposed". Throughput and energy become totals over totals.
The records themselves, which are files of versions, stay as they were written.
"""

import hashlib
import json
import math
from importlib import import_module

from django.db import migrations, models

laws = import_module("runners.migrations.0004_measurements")
HIDDEN = "not-exposed"
MACHINE = (
    "cpu_family",
    "cpu_model_number",
    "cpu_stepping",
    "cpu_microcode",
    "governor",
    "turbo",
    "smt",
    "kernel",
    "runtime_build",
)


def carry_over(apps, schema_editor):
    """Tell trusted rows from others, and make keys and figures anew."""
    rows = apps.get_model("runners", "Measurement").objects
    rows.filter(origin="measured").update(trust="hub")
    for row in rows.order_by("pk").iterator(chunk_size=100):
        changed = {**key_of(row.record), **figures_of(row.record)}
        if row.energy_j is None:
            changed.pop("energy_j", None)
        if row.carbon_g is None:
            changed.pop("carbon_g", None)
        if row.throughput_per_s is None:
            changed.pop("throughput_per_s", None)
        if changed:
            rows.filter(pk=row.pk).update(**changed)
    if schema_editor.connection.vendor == "postgresql":
        # Else the table has events that are pending, and cannot be altered in this transaction.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def key_of(record):
    """The comparability key with the fields of the machine, of warm-up and of timing."""
    told, around = record.get("comparability"), record.get("environment", {})
    if not isinstance(told, dict):
        return {}
    config = record.get("config", {})
    fields = {
        "cgroup_cpu_limit": around.get("cgroup_cpu_limit", HIDDEN),
        "warmup": config.get("warmup", "not-applicable"),
        "timed": config.get("timed", "not-applicable"),
        **{name: around.get(name, HIDDEN) for name in MACHINE},
        **told,
    }
    written = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {"comparability_key": hashlib.sha256(written.encode("ascii")).hexdigest()}


def figures_of(record):
    """Throughput, energy and carbon as totals over totals of the processes that were used."""
    stats, energy, carbon = (record.get(name) or {} for name in ("stats", "energy", "carbon"))
    found = {}
    finished = [one for one in record.get("processes", []) if one.get("samples")]
    if stats.get("aggregation") == "processes kept":
        finished = [one for one in finished if not one.get("rejected")]
    seconds = math.fsum(one.get("wall_s", 0.0) for one in finished)
    if stats and seconds > 0:
        inferences = sum(one["inferences"] for one in finished)
        samples = inferences * record["config"]["batch"]
        found["throughput_per_s"] = float(f"{samples / seconds:.6g}")
    if energy.get("energy_j") is not None and energy.get("inferences"):
        joules = float(f"{energy['energy_j'] / energy['inferences']:.6g}")
        found["energy_j"] = joules
        if carbon.get("grid_g_per_kwh") is not None:
            found["carbon_g"] = float(f"{joules / 3_600_000 * carbon['grid_g_per_kwh']:.6g}")
    return found


def keep(apps, schema_editor):
    """Going back, rows keep what they got: their records hold what they had."""


class Migration(migrations.Migration):

    dependencies = [('runners', '0008_trust')]

    operations = [
        migrations.RunPython(laws.drop, laws.create),
        migrations.RunPython(carry_over, keep),
        migrations.AddConstraint(
            model_name='measurement',
            constraint=models.CheckConstraint(condition=models.Q(('trust__in', ['hub', 'enrolled', 'unverified'])), name='measurement_trust_known'),
        ),
        migrations.AddConstraint(
            model_name='measurement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('enrolled_worker', None), ('origin', 'measured'), ('signature', ''), ('trust', 'hub')), models.Q(('enrolled_worker', None), ('origin', 'contributed'), ('signature', ''), ('trust', 'unverified')), models.Q(('enrolled_worker__isnull', False), ('origin', 'contributed'), ('trust', 'enrolled'), models.Q(('signature', ''), _negated=True)), _connector='OR'), name='measurement_trust_has_ground'),
        ),
        migrations.RunPython(laws.create, laws.drop),
    ]
