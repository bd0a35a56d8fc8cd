"""That a model was timed in a browser is anybody's word, so no filter and no count holds it."""

from django.db import migrations

BETWEEN = "\x1f"
PAIR = "evidence:browser"


def forget(apps, schema_editor):
    """Take the fact out of lists and of what they count."""
    apps.get_model("registry", "DocumentFact").objects.filter(
        group="evidence", value="browser"
    ).delete()
    counted = apps.get_model("registry", "DocumentFacets").objects
    for row in counted.filter(pairs__contains=PAIR).iterator():
        left = [pair for pair in row.pairs.split(BETWEEN) if pair != PAIR]
        counted.filter(pk=row.pk).update(pairs=BETWEEN.join(left))


class Migration(migrations.Migration):

    dependencies = [('registry', '0018_refused_cards')]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
