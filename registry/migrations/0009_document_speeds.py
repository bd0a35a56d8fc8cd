"""How fast listed models ran, indexes to count by, and every document made anew.

Documents are a view of rows: their subscriber is told of the newest event of each model again, and
makes them as the release that runs then does.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Max

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

    dependencies = [
        ('registry', '0008_moves_and_access'),
    ]

    operations = [
        migrations.CreateModel(
            name='DocumentSpeed',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('device', models.CharField(max_length=96)),
                ('device_title', models.CharField(max_length=200)),
                ('runtime', models.CharField(max_length=32)),
                ('provider', models.CharField(blank=True, default='', max_length=64)),
                ('status', models.CharField(choices=[('accepted', 'Accepted'), ('noisy', 'Noisy')], max_length=8)),
                ('p50_ms', models.FloatField()),
                ('result', models.BigIntegerField(help_text='the id of the result in its version')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='speeds', to='registry.searchdocument')),
            ],
            options={
                'ordering': ['document', 'device', 'runtime', 'provider'],
                'indexes': [models.Index(fields=['device', 'runtime', 'provider', 'status', 'p50_ms', 'document'], name='documentspeed_ranked')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['accepted', 'noisy'])), name='documentspeed_status_known'), models.UniqueConstraint(fields=('document', 'device', 'runtime', 'provider'), name='documentspeed_unique'), models.CheckConstraint(condition=models.Q(('p50_ms__gt', 0)), name='documentspeed_positive')],
            },
        ),
        migrations.AlterField(
            model_name='documentfact',
            name='document',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='registry.searchdocument'),
        ),
        migrations.AlterField(
            model_name='documentkeyword',
            name='document',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='registry.searchdocument'),
        ),
        migrations.AddIndex(
            model_name='documentfact',
            index=models.Index(fields=['document', 'group', 'value'], name='documentfact_of_document'),
        ),
        migrations.AddIndex(
            model_name='documentkeyword',
            index=models.Index(fields=['document', 'word'], name='keyword_of_document'),
        ),
        migrations.RunPython(refill, migrations.RunPython.noop),
    ]
