"""Laws of digests, kept by triggers: a signed text is stored under its own SHA-256 alone."""

from django.db import migrations

from registry.core import laws

LAWS = [
    (
        "law_attestation_digest", "provenance_attestation", "INSERT",
        laws.other_sha256("digest", "envelope"),
        "the digest of an attestation is that of its envelope",
    ),
    (
        "law_versionsignature_digest", "provenance_versionsignature", "INSERT",
        laws.other_sha256("sha256", "bundle"),
        "the digest of a signature is that of its bundle",
    ),
]


class Migration(migrations.Migration):

    dependencies = [
        ("provenance", "0005_signing_keys"),
    ]

    operations = [
        laws.set_by(LAWS),
    ]
