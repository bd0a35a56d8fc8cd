"""A law kept by a trigger: an attestation is stored under the SHA-256 of its envelope alone."""

from django.db import migrations

from registry.core import laws

LAWS = [
    (
        "law_attestation_digest", "provenance_attestation", "INSERT",
        laws.other_sha256("digest", "envelope"),
        "the digest of an attestation is that of its envelope",
    ),
]


class Migration(migrations.Migration):

    dependencies = [
        ("provenance", "0005_signing_keys"),
    ]

    operations = [
        laws.set_by(LAWS),
    ]
