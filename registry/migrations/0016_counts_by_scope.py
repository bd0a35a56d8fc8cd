"""Counts of parameters by an older method are dropped, and files that two libraries refuse fail.

The older method counted weights of one name once, and none in attributes: of models with
subgraphs, functions, or operators of ai.onnx.ml or unknown domains, nothing is said until they are
described again. What strict inference and the runtime both call invalid is no file that passed.
"""

from django.db import migrations

# Operators of the default domain that keep weights in attributes.
KEEPING = frozenset({"TfIdfVectorizer"})


def is_uncertain(facts):
    """Whether the older count of these facts may be wrong."""
    nodes = facts.get("nodes") or {}
    operators = facts.get("operators") or []
    return bool(
        nodes.get("subgraphs")
        or facts.get("function_count")
        or facts.get("custom_domains")
        or any(
            one.get("domain") == "ai.onnx.ml" or one.get("name") in KEEPING for one in operators
        )
    )


def drop(apps, schema_editor):
    variants = apps.get_model("registry", "Variant").objects
    for row in variants.exclude(parameters=None).only("pk", "facts").iterator():
        if is_uncertain(row.facts):
            facts = {**row.facts, "parameters": None}
            variants.filter(pk=row.pk).update(parameters=None, facts=facts)


def are_both_invalid(report):
    """Whether strict inference and the runtime call one file of a report invalid."""
    for file in report.get("files") or []:
        verdicts = file.get("verdicts") or {}
        words = {(verdicts.get(stage) or {}).get("verdict") for stage in ("inference", "load")}
        if words == {"invalid"}:
            return True
    return False


def fail(apps, schema_editor):
    checks = apps.get_model("registry", "Check").objects
    for row in checks.filter(kind="onnx", outcome="passed").iterator():
        if are_both_invalid(row.report or {}):
            checks.filter(pk=row.pk).update(outcome="failed")


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0015_proofs'),
    ]

    operations = [
        migrations.RunPython(drop, migrations.RunPython.noop),
        migrations.RunPython(fail, migrations.RunPython.noop),
    ]
