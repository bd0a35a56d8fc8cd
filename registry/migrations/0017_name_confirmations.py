"""Confirmations of names in cards, and every document made anew.

Until now a name meant whatever entry had it, whoever registered that: documents and graphs said so.
Names that mean nothing any more are suggested to maintainers. The graphs follow by the comparison
that the new form of them brings about (metadata/nightly.py).
"""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from django.db.models import Max

CONSUMER = "registry.search"


def refill(apps, schema_editor):
    """Leave a delivery for each model whose cards name a data set."""
    mentions = apps.get_model("registry", "Mention").objects.filter(kind="dataset")
    newest = (
        apps.get_model("registry", "Event")
        .objects.filter(model__in=mentions.values("version__model"))
        .order_by()
        .values("model")
        .annotate(newest=Max("pk"))
        .values_list("newest", flat=True)
    )
    delivery_model = apps.get_model("registry", "Delivery")
    delivery_model.objects.bulk_create(
        (delivery_model(event_id=pk, consumer=CONSUMER) for pk in newest.iterator()),
        batch_size=1000,
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0016_counts_by_scope'),
    ]

    operations = [
        migrations.CreateModel(
            name='NameConfirmation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('dataset', 'Dataset'), ('model', 'Model')], max_length=8)),
                ('name', models.CharField(help_text='in lower case', max_length=500)),
                ('confirmed_at', models.DateTimeField(auto_now_add=True)),
                ('base', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_as_base', to='registry.registeredmodel')),
                ('confirmed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='confirmed_names', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_names', to='registry.dataset')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='confirmed_names', to='registry.registeredmodel')),
            ],
            options={
                'ordering': ['kind', 'name', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('model', 'kind', 'name'), name='nameconfirmation_unique'), models.CheckConstraint(condition=models.Q(('kind__in', ['dataset', 'model'])), name='nameconfirmation_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('base', None), ('dataset__isnull', False), ('kind', 'dataset')), models.Q(('base__isnull', False), ('dataset', None), ('kind', 'model')), _connector='OR'), name='nameconfirmation_one_entry_of_its_kind'), models.CheckConstraint(condition=models.Q(models.Q(('name', ''), _negated=True), ('name', django.db.models.functions.text.Lower('name'))), name='nameconfirmation_name_is_key'), models.CheckConstraint(condition=models.Q(('base', None), models.Q(('base', models.F('model')), _negated=True), _connector='OR'), name='nameconfirmation_not_itself')],
            },
        ),
        migrations.RunPython(refill, migrations.RunPython.noop),
    ]
