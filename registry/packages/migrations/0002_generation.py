import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("packages", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="VersionGeneration",
            fields=[
                (
                    "version",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="generation",
                        serialize=False,
                        to="registry.version",
                    ),
                ),
                ("manifest_sha256", models.CharField(max_length=64)),
                ("method", models.PositiveSmallIntegerField()),
                ("document", models.JSONField()),
                ("tokens_per_second", models.FloatField(null=True)),
                ("measured_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("tokens_per_second", None),
                            ("tokens_per_second__gt", 0),
                            _connector="OR",
                        ),
                        name="versiongeneration_speed_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("manifest_sha256__regex", "^[0-9a-f]{64}$")),
                        name="versiongeneration_manifest_sha256_pattern",
                    ),
                ],
            },
        ),
    ]
