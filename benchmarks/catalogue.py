"""List, search and detail through the whole web stack against the raw SQL and JSON they need.

Both run in this process on the same database, request by request in turn, so the ratio holds on a
busy machine. The raw side runs one hand-written statement for the same rows and encodes the same
JSON; the hub's side is everything between the WSGI door and the last byte.

    python benchmarks/catalogue.py                          # 10,000 and 100,000 models, SQLite
    DATABASE_URL=postgres://… python benchmarks/catalogue.py # an empty PostgreSQL database
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = (  # noqa: SIM905 - a list of quoted words is harder to read
    "resnet bert gpt vit yolo unet swin clip whisper llama efficientnet mobilenet densenet segment "
    "detect speech text image tiny small base large int8 fp16 fast robust medical traffic"
).split()
TASKS = ["image-classification", "object-detection", "text-generation", "fill-mask", "other"]
LICENSES = ["apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0"]
COLUMNS = (
    "d.title, d.namespace_slug, m.name, m.visibility, m.summary, m.license, d.task, d.keywords, "
    "d.downloads, m.created_at, d.updated_at, d.latest"
)
FROM = (
    "FROM registry_searchdocument d JOIN registry_registeredmodel m ON m.id = d.model_id "
    "WHERE d.audience = %s"
)


def fill(total: int) -> None:
    """Write ``total`` published models with documents; the same ones for the same number."""
    from registry.models import Namespace, RegisteredModel, SearchDocument  # noqa: PLC0415

    chance = random.Random(total)  # noqa: S311 - a benchmark, not a secret
    now = datetime.now(tz=UTC)
    spaces = Namespace.objects.bulk_create(
        [Namespace(slug=f"org{total}-{index}") for index in range(max(1, total // 50))]
    )
    for start in range(0, total, 5_000):
        rows = []
        for index in range(start, min(total, start + 5_000)):
            words = chance.sample(WORDS, 3)
            at = now - timedelta(seconds=chance.randrange(10**7))
            rows.append(
                RegisteredModel(
                    namespace=chance.choice(spaces),
                    name=f"{'-'.join(words)}-{index}",
                    summary=f"A {words[0]} for {words[1]}.",
                    license=chance.choice(LICENSES),
                    task=chance.choice(TASKS),
                    keywords=words,
                    downloads=int(chance.paretovariate(0.6)) % 10**9,
                    first_published_at=at,
                )
            )
        RegisteredModel.objects.bulk_create(rows)
        SearchDocument.objects.bulk_create([_document(row, chance) for row in rows])


def _document(row: Any, chance: random.Random) -> Any:
    from registry.models import SearchDocument  # noqa: PLC0415

    size = chance.randrange(10**5, 10**9)
    opset = chance.randrange(9, 24)
    latest = {
        "number": 1,
        "label": "",
        "published_at": row.first_published_at.isoformat(),
        "opset": opset,
        "ir_version": 9,
        "precision": "fp32",
        "parameters": size // 4,
        "entry": "model.onnx",
        "size": size,
        "files": 2,
        "barcode": {"categories": ["conv"], "cells": [0] * 60, "nodes": 60},
    }
    return SearchDocument(
        model=row,
        title=row.ref,
        audience=0,
        body=f"{row.summary} {row.task} {row.license} {' '.join(row.keywords)} "
        + " ".join(chance.choices(WORDS, k=40)),
        namespace_slug=row.namespace.slug,
        license=row.license,
        task=row.task,
        keywords=row.keywords,
        precision="fp32",
        opset=opset,
        size=size,
        parameters=size // 4,
        downloads=row.downloads,
        updated_at=row.first_published_at,
        latest=latest,
    )


def raw(sql: str, parameters: list[Any]) -> Callable[[], bytes]:
    """The statement alone, and its rows as JSON."""
    from django.core.serializers.json import DjangoJSONEncoder  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    def run() -> bytes:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            items = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return json.dumps({"items": items}, cls=DjangoJSONEncoder).encode()

    return run


def through_hub(path: str) -> Callable[[], bytes]:
    """The request, through every middleware."""
    from django.test import Client  # noqa: PLC0415

    client = Client()

    def run() -> bytes:
        response = client.get(path, headers={"Host": "127.0.0.1"})
        assert response.status_code == 200, response.content
        return bytes(response.content)

    return run


def questions() -> dict[str, tuple[Callable[[], bytes], Callable[[], bytes]]]:
    """Each question as the hub answers it and as raw SQL does."""
    from django.db import connection  # noqa: PLC0415

    from registry.models import SearchDocument  # noqa: PLC0415

    sample = SearchDocument.objects.order_by("pk")[17]
    if connection.vendor == "postgresql":
        match = "registry_search_vector(d.title::text, d.body) @@ to_tsquery('simple', %s)"
        term = "medical:*"
    else:
        match = (
            "d.model_id IN (SELECT rowid FROM registry_search_fts "
            "WHERE registry_search_fts MATCH %s)"
        )
        term = '"medical"*'
    listing = f"SELECT {COLUMNS} {FROM}"
    found = f"{listing} AND {match} ORDER BY d.downloads DESC"
    return {
        "list by update": (
            through_hub("/api/v1/models"),
            raw(f"{listing} ORDER BY d.updated_at DESC, d.model_id DESC LIMIT 21", [0]),
        ),
        "list by downloads": (
            through_hub("/api/v1/models?sort=downloads"),
            raw(f"{listing} ORDER BY d.downloads DESC, d.model_id DESC LIMIT 21", [0]),
        ),
        "search": (
            through_hub("/api/v1/models?q=medical"),
            raw(f"{found} LIMIT 1000", [0, term]),
        ),
        "detail": (
            through_hub(f"/api/v1/models/{sample.title}"),
            raw(f"{listing} AND d.title = %s", [0, sample.title]),
        ),
    }


def measure(runs: int) -> None:
    """Run every question in turn on both sides and print medians, p95 and the ratio."""
    print(f"{'question':<20}{'hub p50':>10}{'hub p95':>10}{'raw p50':>10}{'ratio':>8}  (ms)")
    for name, sides in questions().items():
        times: tuple[list[float], list[float]] = ([], [])
        for side in sides:
            side()
        for _ in range(runs):
            for taken, side in zip(times, sides, strict=True):
                start = time.perf_counter()
                side()
                taken.append((time.perf_counter() - start) * 1000)
        hub, plain = (statistics.median(taken) for taken in times)
        tail = statistics.quantiles(times[0], n=20)[18]
        print(f"{name:<20}{hub:>10.2f}{tail:>10.2f}{plain:>10.2f}{hub / plain:>8.1f}")


def main() -> None:
    """Make a database of each size and measure it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--runs", type=int, default=60)
    args = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "hub.server.settings"
    os.environ["HUB_LIMITS_ANON_RATE"] = "1000000/min"
    with tempfile.TemporaryDirectory() as home:
        os.environ["HUB_HOME"] = home
        import django  # noqa: PLC0415

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415
        from django.db import connection  # noqa: PLC0415

        call_command("collectstatic", verbosity=0, interactive=False)
        call_command("migrate", verbosity=0)
        done = 0
        for total in args.models:
            fill(total - done)
            done = total
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
            print(f"\n{total} models, {connection.vendor}")
            measure(args.runs)
        connection.close()


if __name__ == "__main__":
    main()
