"""Methods have a place up to which they caught up, as versions of runtimes have."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runners", "0004_optimiser_faults"),
    ]

    operations = [
        migrations.CreateModel(
            name="MethodSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "cursor",
                    models.BigIntegerField(
                        default=0, help_text="the last version that was looked at"
                    ),
                ),
                ("caught_up_at", models.DateTimeField(blank=True, null=True)),
                ("methods", models.CharField(max_length=255, unique=True)),
                ("first_seen_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"ordering": ["first_seen_at", "pk"]},
        ),
    ]
