"""Administrators had no namespace of their own name; every user has one now."""

import re

from django.db import migrations
from django.db.models.functions import Lower

SLUG = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
# Addresses of the hub when this was written.
RESERVED = frozenset(
    "about account administration agents api benchmarks blob blobs buckets collections commit "
    "compare datasets devices docs federated fleets health healthz help home jobs kernels keys "
    "latest licences login logout main metrics models ns oauth onnx-hub papers problems query raw "
    "readyz resolve runtimes scoreboard settings spaces sparql static tasks tests theme tokens "
    "trainings tree upload uploads".split()
)


def open_namespaces(apps, schema_editor):
    """Make the missing ones; a name that is in use or an address of the hub stays as it is."""
    User, Namespace, Membership = (
        apps.get_model("registry", name) for name in ("User", "Namespace", "Membership")
    )
    used = set(Namespace.objects.values_list(Lower("slug"), flat=True))
    for user in User.objects.filter(is_active=True).order_by("pk"):
        name = user.username
        if name.lower() in used | RESERVED or not SLUG.fullmatch(name):
            continue
        namespace = Namespace.objects.create(slug=name, kind="user")
        Membership.objects.create(namespace=namespace, user=user, role="owner")
        used.add(name.lower())


class Migration(migrations.Migration):

    dependencies = [
        ("registry", "0024_predicted_speeds"),
    ]

    operations = [
        migrations.RunPython(open_namespaces, migrations.RunPython.noop, elidable=True),
    ]
