"""Facts that a search can ask for, and every document made anew with them.

Documents are a view of rows: their subscriber is told of the newest event of each model again, and
makes them as the release that runs then does.
"""

from django.db import migrations, models
from django.db.models import Max
import django.db.models.deletion

CONSUMER = "registry.search"


def refill(apps, schema_editor):
    """Leave a delivery for each model that has a document."""
    event_model = apps.get_model("registry", "Event")
    delivery_model = apps.get_model("registry", "Delivery")
    documents = apps.get_model("registry", "SearchDocument").objects.values("pk")
    newest = (
        event_model.objects.filter(model__in=documents)
        .order_by()
        .values("model")
        .annotate(newest=Max("pk"))
        .values_list("newest", flat=True)
    )
    delivery_model.objects.bulk_create(
        (delivery_model(event_id=pk, consumer=CONSUMER) for pk in newest.iterator()),
        batch_size=1000,
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("registry", "0005_datasets")]
    operations = [
        migrations.AddField(
            model_name="searchdocument",
            name="carbon_kg",
            field=models.FloatField(
                blank=True,
                help_text="kilograms of CO2e that training took, as declared",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="searchdocument",
            index=models.Index(fields=["audience", "carbon_kg", "model"], name="search_by_carbon"),
        ),
        migrations.CreateModel(
            name="DocumentFact",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.CharField(max_length=16)),
                ("value", models.CharField(max_length=96)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="facts",
                        to="registry.searchdocument",
                    ),
                ),
            ],
            options={
                "ordering": ["group", "value", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "value", "document"), name="documentfact_unique"
                    )
                ],
            },
        ),
        migrations.RunPython(refill, migrations.RunPython.noop),
    ]
