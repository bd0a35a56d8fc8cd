"""What each listed model counts for in the filters of a list, in one text, written at once.

PostgreSQL keeps the words of a model in its row: fetched one by one from where it puts what is
long, those of ten thousand models took three times as long to match.
"""

import django.db.models.deletion
from django.db import migrations, models

TABLE = "registry_searchdocument"
BETWEEN = "\x1f"
BOUNDS = (10**6, 10**7, 10**8, 10**9)
FACTS = ("passes_on", "evidence", "measured_on")
BATCH = 1000


def least(value):
    """The first bound that a value keeps; beyond the last, one more than that."""
    if value is None:
        return ""
    return next((bound for bound in BOUNDS if value <= bound), BOUNDS[-1] + 1)


def fill(apps, schema_editor):
    """Write the text of each document from its row and its facts, as registry.facets does."""
    made = apps.get_model("registry", "DocumentFacets")
    documents = apps.get_model("registry", "SearchDocument").objects.order_by("pk")
    last = -1
    while rows := list(documents.filter(pk__gt=last).defer("body", "latest")[:BATCH]):
        last = rows[-1].pk
        facts = {}
        told = apps.get_model("registry", "DocumentFact").objects.filter(
            document__gte=rows[0].pk, document__lte=last, group__in=FACTS
        )
        for pk, group, value in told.order_by().values_list("document", "group", "value"):
            facts.setdefault(pk, []).append((group, value))
        made.objects.bulk_create(
            made(document=row, pairs=pairs(row, facts.get(row.pk, []))) for row in rows
        )


def pairs(row, facts):
    told = [
        ("task", row.task),
        ("license", row.license),
        ("precision", row.precision),
        ("namespace", row.namespace_slug),
        ("opset_max", "" if row.opset is None else row.opset),
        ("max_bytes", least(row.size)),
        ("max_parameters", least(row.parameters)),
        *(("keyword", word) for word in row.keywords),
        *facts,
    ]
    written = (f"{group}:{value}" for group, value in told)
    return BETWEEN.join(pair for pair in written if BETWEEN not in pair)


def keep_words_in_rows(apps, schema_editor):
    """Have PostgreSQL store the vectors in the rows, those that are there too."""
    _store_words(schema_editor, "MAIN")


def keep_words_apart(apps, schema_editor):
    """As PostgreSQL does unless told otherwise."""
    _store_words(schema_editor, "EXTENDED")


def _store_words(schema_editor, how):
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(f"ALTER TABLE {TABLE} ALTER COLUMN vector SET STORAGE {how}")
    schema_editor.execute(f"UPDATE {TABLE} SET title = title")  # writes each vector anew


class Migration(migrations.Migration):
    dependencies = [("registry", "0009_document_speeds")]
    operations = [
        migrations.CreateModel(
            name="DocumentFacets",
            fields=[
                (
                    "document",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="facets",
                        serialize=False,
                        to="registry.searchdocument",
                    ),
                ),
                (
                    "pairs",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="group:value, one behind the other, see registry.facets",
                    ),
                ),
            ],
            options={"verbose_name_plural": "document facets"},
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(keep_words_in_rows, keep_words_apart),
    ]
