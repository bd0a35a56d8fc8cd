"""A published version of a data set never changes: neither its number and content, nor its files."""

from django.db import migrations

from registry.core import laws

LAWS: tuple[laws.Law, ...] = (
    (
        "law_dataset_version_kept",
        "registry_datasetversion",
        "UPDATE",
        laws.changed("dataset_id", "number", "sha256", "splits"),
        "a version of a data set never changes",
    ),
    (
        "law_dataset_file_kept",
        "registry_datasetfile",
        "UPDATE",
        laws.changed("version_id", "path", "blob_id"),
        "a file of a data set never changes",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("registry", "0021_dataset_versions")]

    operations = [laws.set_by(LAWS)]
