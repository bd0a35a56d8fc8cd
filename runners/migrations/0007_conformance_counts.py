"""Wrong data and a wrong reference fail nobody, and a runtime that ran no input is told from others.

Rows of before keep what they say and get the outcome that means it now. Lists and graphs are views
of rows: their subscribers are told of the newest event of each model and version again. Every
version is looked at again, so that what was described by an older method is described anew.
"""

from django.db import migrations, models
from django.db.models import Max, Q

LISTS, GRAPHS = "registry.search", "metadata.graphs"
# How results of before began that ran no input.
RAN_NOTHING = (
    "no generated inputs fit the model: refuses ",
    "no inputs to run it on: refuses ",
)


def recount(apps, schema_editor):
    rows = apps.get_model("runners", "ConformanceResult").objects
    rows.filter(outcome="failed", blames__in=("data", "reference")).update(outcome="cantTell")
    rows.filter(outcome="failed", blames="").update(runs=False)
    refused = Q()
    for words in RAN_NOTHING:
        refused |= Q(reason__startswith=words)
    rows.filter(refused, outcome="cantTell").update(runs=False)
    rows.filter(outcome="inapplicable", reason__contains=" does not support it: ").update(runs=False)
    apps.get_model("runners", "Runtime").objects.update(cursor=0, caught_up_at=None)


def tell(apps, schema_editor):
    """Leave a delivery for the list's row of each model, and for the graph of each version."""
    events = apps.get_model("registry", "Event").objects.order_by()
    documents = apps.get_model("registry", "SearchDocument").objects.values("pk")
    of_models = events.filter(model__in=documents).values("model").annotate(newest=Max("pk"))
    of_versions = (
        events.filter(subject_kind="version", model__isnull=False)
        .values("subject_id")
        .annotate(newest=Max("pk"))
    )
    delivery = apps.get_model("registry", "Delivery")
    for consumer, found in ((LISTS, of_models), (GRAPHS, of_versions)):
        keys = found.values_list("newest", flat=True)
        delivery.objects.bulk_create(
            (delivery(event_id=key, consumer=consumer) for key in keys.iterator()),
            batch_size=1000,
            ignore_conflicts=True,
        )


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0016_counts_by_scope'),
        ('runners', '0006_upgrades_again'),
    ]

    operations = [
        migrations.AddField(
            model_name='conformanceresult',
            name='runs',
            field=models.BooleanField(help_text='whether the runtime ran some input to its end; null where not tried', null=True),
        ),
        migrations.RunPython(recount, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='conformanceresult',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('blames__in', ['data', 'reference']), _negated=True), ('outcome', 'cantTell'), _connector='OR'), name='conformance_wrong_data_fail_nobody'),
        ),
        migrations.AddConstraint(
            model_name='conformanceresult',
            constraint=models.CheckConstraint(condition=models.Q(('runs', None), ('runs', True), models.Q(('outcome', 'passed'), _negated=True), _connector='OR'), name='conformance_passes_only_what_runs'),
        ),
        migrations.RunPython(tell, migrations.RunPython.noop),
    ]
