"""Laws of measurements, as triggers on SQLite and PostgreSQL: what was measured never changes."""

from django.db import migrations

from registry.core import laws

LAWS = [
    (
        f"law_{table}_kept", table, "UPDATE", "1 = 1",
        f"rows of {table} are added and never changed",
    )
    for table in ("runners_environment", "runners_measurement", "runners_comparison")
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("runners", "0001_tables")]
    operations = [laws.set_by(LAWS)]
