"""Evaluations of several labels for each row: one more metric."""

from django.db import migrations, models
from django.db.models import Q

METRICS = (
    'accuracy', 'top-5', 'f1-macro', 'roc_auc', 'log_loss', 'f1-micro', 'rmse', 'mae', 'r2',
)
SHARES = ('accuracy', 'top-5', 'f1-macro', 'roc_auc', 'f1-micro')


class Migration(migrations.Migration):

    dependencies = [
        ('runners', '0015_predictions'),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='evaluation', name='evaluation_metric_known'),
        migrations.RemoveConstraint(model_name='evaluation', name='evaluation_shares'),
        migrations.AlterField(
            model_name='evaluation',
            name='metric',
            field=models.CharField(choices=[(name, name) for name in METRICS], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=Q(metric__in=METRICS), name='evaluation_metric_known'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=~Q(metric__in=SHARES) | Q(value__gte=0, value__lte=1, low__gte=0, high__lte=1), name='evaluation_shares'),
        ),
    ]
