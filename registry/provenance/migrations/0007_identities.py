"""Signatures without a key: the issuer of the identity that signed, and identities that count.

A signature is stored under the SHA-256 of its bundle alone, by a trigger.
"""

from django.db import migrations, models

from registry.core import laws

# SQLite recreates the table.
APPEND_ONLY = [
    (
        f"law_versionsignature_{event.lower()}", "provenance_versionsignature", event, "1 = 1",
        "signatures are append-only",
    )
    for event in ("UPDATE", "DELETE")
]
DIGESTS = [
    (
        "law_versionsignature_digest", "provenance_versionsignature", "INSERT",
        laws.other_sha256("sha256", "bundle"),
        "the digest of a signature is that of its bundle",
    ),
]


class Migration(migrations.Migration):

    dependencies = [
        ("provenance", "0006_digests"),
    ]

    operations = [
        laws.lifted_by(APPEND_ONLY),
        migrations.AddField(
            model_name="versionsignature",
            name="identity_issuer",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        laws.set_by([*APPEND_ONLY, *DIGESTS]),
        migrations.AddField(
            model_name="namespacesigner",
            name="identity_issuer",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.RemoveConstraint(
            model_name="namespacesigner",
            name="namespacesigner_key_or_authorities",
        ),
        migrations.AddConstraint(
            model_name="namespacesigner",
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('authorities', ''), ('identity_issuer', ''), ('key__regex', '^sha256:[0-9a-f]{64}$'), ('name', '')), models.Q(('identity_issuer', ''), ('key', ''), models.Q(('authorities', ''), _negated=True)), models.Q(('authorities', ''), ('key', ''), models.Q(('name', ''), _negated=True), models.Q(('identity_issuer', ''), _negated=True)), _connector='OR'), name='namespacesigner_means_somebody'),
        ),
    ]
