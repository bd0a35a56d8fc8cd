"""How well the main variant of a listed model is proven, as a rank that an index orders by."""

from collections import defaultdict

from django.db import migrations, models

from registry.catalogue.documents import proof_rank

PAGE = 1_000


def rank_documents(apps, schema_editor):
    documents = apps.get_model("registry", "SearchDocument").objects.order_by("pk")
    facts = apps.get_model("registry", "DocumentFact").objects.order_by()
    accuracies = apps.get_model("registry", "DocumentAccuracy").objects
    speeds = apps.get_model("registry", "DocumentSpeed").objects
    last = 0
    while keys := list(documents.filter(pk__gt=last).values_list("pk", flat=True)[:PAGE]):
        of_documents = defaultdict(set)
        rows = facts.filter(document__in=keys).values_list("document", "group", "value")
        for key, group, value in rows:
            of_documents[key].add((group, value))
        for key, values in of_documents.items():
            measured = (
                accuracies.filter(document=key).exists()
                + speeds.filter(document=key, status="accepted").exists()
            )
            if rank := proof_rank(values, measured):
                documents.filter(pk=key).update(proof_rank=rank)
        last = keys[-1]


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0013_token_deletions"),
    ]

    operations = [
        migrations.AddField(
            model_name="searchdocument",
            name="proof_rank",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                help_text="greater the better its main variant is proven; null where it passes "
                "nowhere",
            ),
        ),
        migrations.AddIndex(
            model_name="searchdocument",
            index=models.Index(
                fields=["audience", "task", "-proof_rank", "-model"], name="search_by_proof"
            ),
        ),
        migrations.RunPython(rank_documents, migrations.RunPython.noop, elidable=True),
    ]
