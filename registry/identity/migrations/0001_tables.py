"""The tables of the security log, and the laws that keep it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from registry.core import laws

# Name, table, event, and the condition under which the change is refused.
LAWS = [
    (
        "law_security_event_kept", "identity_securityevent", "UPDATE", "1 = 1",
        "entries of the security log are never changed",
    ),
    (
        "law_security_event_not_deleted", "identity_securityevent", "DELETE",
        "NOT EXISTS (SELECT 1 FROM identity_securityretention WHERE OLD.at < before)",
        "entries of the security log are deleted only after their time",
    ),
    (
        "law_security_retention_set", "identity_securityretention", "INSERT",
        "NEW.before > CURRENT_TIMESTAMP",
        "entries of the security log that are still to come cannot be let go",
    ),
    (
        "law_security_retention_moved", "identity_securityretention", "UPDATE",
        "NEW.before < OLD.before OR NEW.before > CURRENT_TIMESTAMP",
        "the retention of the security log only moves on, and not beyond now",
    ),
    (
        "law_security_retention_kept", "identity_securityretention", "DELETE", "1 = 1",
        "the retention of the security log is not deleted",
    ),
]  # fmt: skip


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("registry", "0017_download_weeks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SecurityRetention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("before", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="securityretention_single"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SecurityEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=40)),
                ("address", models.CharField(blank=True, default="", max_length=64)),
                ("token", models.CharField(blank=True, default="", max_length=120)),
                ("request_id", models.CharField(blank=True, default="", max_length=64)),
                ("subject_kind", models.CharField(blank=True, default="", max_length=20)),
                ("subject_id", models.CharField(blank=True, default="", max_length=40)),
                ("data", models.JSONField(default=dict)),
                (
                    "actor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="security_events",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="security_events",
                        to="registry.registeredmodel",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["at"], name="securityevent_by_time"),
                    models.Index(fields=["kind", "-id"], name="securityevent_by_kind"),
                    models.Index(fields=["address", "-id"], name="securityevent_by_address"),
                    models.Index(
                        fields=["subject_kind", "subject_id"], name="securityevent_by_subject"
                    ),
                    models.Index(
                        condition=models.Q(("request_id", ""), _negated=True),
                        fields=["request_id"],
                        name="securityevent_by_request",
                    ),
                ],
            },
        ),
        laws.set_by(LAWS),
    ]
