"""List, search and detail through the whole web stack against the raw SQL and JSON they need.

Both run in this process on the same database, request by request in turn, so the ratio holds on a
busy machine. The raw side runs one hand-written statement for the same rows and encodes the same
JSON; the hub's side is everything between the WSGI door and the last byte. Beside the time on the
clock stand the processor time of this process (PostgreSQL's own is not in it) and the number of
statements: those hold on a machine whose cores others are using.

    python benchmarks/catalogue.py                          # 10,000 and 100,000 models, SQLite
    DATABASE_URL=postgres://… python benchmarks/catalogue.py # an empty PostgreSQL database
    DATABASE_URL=postgres://… python benchmarks/catalogue.py --models 1000000  # takes half an hour
    DATABASE_URL=postgres://… python benchmarks/catalogue.py --filled          # measure it again
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
# Words as text has them: a few in every card, most in hardly any.
RARER = [f"word{index}" for index in range(3_000)]
RARER_WEIGHTS = [1 / (index + 10) for index in range(3_000)]
TASKS = ["image-classification", "object-detection", "text-generation", "fill-mask", "other"]
LICENSES = ["apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0"]
# How many of all models a search finds: most, a fortieth, one in two hundred.
SEARCHES = {"search, common": "medical", "search, usual": "word400", "search, rare": "word2000"}
# Parts of names and summaries: a tenth of them have the first, a few the second, none the others.
PARTS = {
    "part, common": "resnet",
    "part, rare": "-1234",
    "part, none": "zzqqy",
    "part, short": "zq",
}
# The model whose pages are opened, and what of it is opened besides the overview.
WHOLE = "went-the-whole-way"
TABS = ("files", "graph", "benchmarks", "conformance", "provenance", "carbon", "lineage")
# Setups that models are measured in, with the share of them; the first is what the list shows.
SETUPS = {("example-cpu", "onnxruntime"): 0.6, ("example-cpu", "openvino"): 0.3}
# Models with downloads since lists were refreshed.
DOWNLOADED = 1_000
COLUMNS = (
    "d.title, d.namespace_slug, m.name, m.visibility, m.summary, m.license, d.task, d.keywords, "
    "d.downloads, m.created_at, d.updated_at, d.latest"
)
FROM = (
    "FROM registry_searchdocument d JOIN registry_registeredmodel m ON m.id = d.model_id "
    "WHERE d.audience = %s"
)
SPEEDS = (
    " JOIN registry_documentspeed s ON s.document_id = d.model_id AND s.device = %s"
    " AND s.runtime = %s AND s.status = 'accepted' WHERE"
)


def fill(total: int) -> None:
    """Write ``total`` published models with documents; the same ones for the same number."""
    from registry.catalogue import facets
    from registry.models import (
        DocumentFacets,
        DocumentFact,
        DocumentKeyword,
        DocumentSpeed,
        DownloadCount,
        Namespace,
        RegisteredModel,
        SearchDocument,
    )

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
                    first_published_at=at,
                )
            )
        RegisteredModel.objects.bulk_create(rows)
        counts = DownloadCount.objects.bulk_create(
            [
                DownloadCount(model=row, downloads=int(chance.paretovariate(0.6)) % 10**9)
                for row in rows
            ]
        )
        documents = SearchDocument.objects.bulk_create(
            [
                _document(row, count.downloads, chance)
                for row, count in zip(rows, counts, strict=True)
            ]
        )
        DocumentKeyword.objects.bulk_create(
            [
                DocumentKeyword(document=document, word=word)
                for document in documents
                for word in document.keywords
            ]
        )
        facts = {document: _facts(chance) for document in documents}
        DocumentFact.objects.bulk_create(
            [
                DocumentFact(document=document, group=group, value=value)
                for document, told in facts.items()
                for group, value in told
            ]
        )
        DocumentFacets.objects.bulk_create(
            [
                DocumentFacets(document=document, pairs=facets.pairs(document, told))
                for document, told in facts.items()
            ]
        )
        DocumentSpeed.objects.bulk_create(
            [
                DocumentSpeed(
                    document=document,
                    device=device,
                    device_title="Example CPU",
                    runtime=runtime,
                    status=chance.choice(["accepted", "accepted", "noisy"]),
                    p50_ms=chance.lognormvariate(1, 2),
                    result=document.pk,
                )
                for document in documents
                for (device, runtime), share in SETUPS.items()
                if chance.random() < share
            ]
        )


def _facts(chance: random.Random) -> list[tuple[str, str]]:
    """What a search can ask of a published model: a dozen operators, verdicts, a device."""
    found = [("operator", f"Operator{index}") for index in chance.sample(range(150), 12)]
    found += [("passes_on", name) for name in ("onnxruntime", "openvino") if chance.random() < 0.8]
    found += [("measured_on", "example-cpu")] if chance.random() < 0.7 else []
    return found + ([("evidence", "carbon")] if chance.random() < 0.2 else [])


def _document(row: Any, downloads: int, chance: random.Random) -> Any:
    from registry.models import SearchDocument

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
        "summary": row.summary,
        "barcode": {"categories": ["conv"], "cells": [0] * 60, "nodes": 60},
    }
    return SearchDocument(
        model=row,
        title=row.ref,
        audience=0,
        body=f"{row.summary} {row.task} {row.license} {' '.join(row.keywords)} "
        + " ".join(chance.choices(WORDS, k=40) + chance.choices(RARER, RARER_WEIGHTS, k=60)),
        namespace_slug=row.namespace.slug,
        license=row.license,
        task=row.task,
        keywords=row.keywords,
        precision="fp32",
        opset=opset,
        size=size,
        parameters=size // 4,
        downloads=downloads,
        updated_at=row.first_published_at,
        latest=latest,
    )


def give_refs(model: Any) -> None:
    """A published version with the names that a kept model has: main, a tag and an alias."""
    from registry.models import Ref, User, Version

    if model.versions.exists():
        return
    version = Version.objects.create(
        model=model,
        number=1,
        state="published",
        commit_id="1" * 40,
        manifest_sha256="1" * 64,
        published_at=model.first_published_at,
        created_by=User.objects.create(username="owner"),
    )
    for kind, name in (("branch", "main"), ("tag", "v1.0"), ("alias", "stable")):
        Ref.objects.create(model=model, kind=kind, name=name, version=version)


def publish_one() -> str:
    """A model that went the whole way, its files, checks and graphs with it; gives its page."""
    from registry.models import Version
    from tests import factories

    if not Version.objects.filter(model__name=WHOLE).exists():
        owner = factories.user("bench-owner")
        factories.published(owner, factories.model(owner, WHOLE, summary="It is whole."))
    return f"/models/bench-owner/{WHOLE}"


def raw(*statements: tuple[str, list[Any]]) -> Callable[[], bytes]:
    """The statements alone, and their rows as JSON."""
    from django.core.serializers.json import DjangoJSONEncoder
    from django.db import connection

    def run() -> bytes:
        with connection.cursor() as cursor:
            answers = []
            for sql, parameters in statements:
                cursor.execute(sql, parameters)
                names = [column[0] for column in cursor.description]
                answers.append([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])
        return json.dumps(answers, cls=DjangoJSONEncoder).encode()

    return run


def through_hub(path: str) -> Callable[[], bytes]:
    """The request, through every middleware."""
    from django.test import Client

    client = Client()

    def run() -> bytes:
        response = client.get(path, headers={"Host": "127.0.0.1"})
        assert response.status_code == 200, response.content
        return bytes(response.content)

    return run


def questions() -> dict[str, tuple[Callable[[], bytes], Callable[[], bytes] | None]]:
    """Each question as the hub answers it and as raw SQL does; pages stand alone."""
    from django.db import connection

    from registry.catalogue import public_models
    from registry.models import SearchDocument

    sample = SearchDocument.objects.order_by("pk")[17]
    give_refs(sample.model)
    if connection.vendor == "postgresql":
        match = "d.vector @@ to_tsquery('simple', %s)"
    else:
        match = (
            "d.model_id IN (SELECT rowid FROM registry_search_fts "
            "WHERE registry_search_fts MATCH %s)"
        )
    listing = f"SELECT {COLUMNS} {FROM}"
    count = (
        "SELECT count(*) FROM (SELECT 1 FROM registry_searchdocument WHERE audience = %s "
        "LIMIT 1001) matches"
    )
    found = f"{listing} AND {match} ORDER BY d.downloads DESC LIMIT 1000"
    refs = (
        "SELECT r.name, r.kind, v.number FROM registry_ref r "
        "JOIN registry_version v ON v.id = r.version_id WHERE r.model_id = %s "
        "AND v.state IN ('published', 'yanked')"
    )
    asked: dict[str, tuple[str, Callable[[], bytes]]] = {
        f"list by {sort}": (
            f"/api/v1/models?sort={sort}",
            raw((f"{listing} ORDER BY d.{order}, d.model_id DESC LIMIT 21", [0]), (count, [0])),
        )
        for sort, order in (("updated", "updated_at DESC"), ("downloads", "downloads DESC"))
    }
    device, runtime = next(iter(SETUPS))
    ranked = (
        f"SELECT {COLUMNS}, s.p50_ms {FROM.replace(' WHERE', SPEEDS)} ORDER BY s.p50_ms LIMIT 21"
    )
    asked["list by speed"] = (
        f"/api/v1/models?sort=fastest&device={device}&runtime={runtime}",
        raw((ranked, [device, runtime, 0]), (count, [0])),
    )
    for title, word in SEARCHES.items():
        written = f"{word}:*" if connection.vendor == "postgresql" else f'"{word}"*'
        asked[title] = (f"/api/v1/models?q={word}", raw((found, [0, written])))
    part = f"{listing} AND (m.name ILIKE %s OR d.latest->>'summary' ILIKE %s) LIMIT 21"
    if connection.vendor != "postgresql":
        part = part.replace("ILIKE", "LIKE")
    for title, text in PARTS.items():
        asked[title] = (f"/api/v1/models?contains={text}", raw((part, [0, *[f"%{text}%"] * 2])))
    asked["detail"] = (
        f"/api/v1/models/{sample.title}",
        raw((f"{listing} AND d.title = %s", [0, sample.title]), (refs, [sample.pk])),
    )
    sides: dict[str, tuple[Callable[[], bytes], Callable[[], bytes] | None]] = {
        name: (through_hub(path), plain) for name, (path, plain) in asked.items()
    }
    model = publish_one()
    pages = {
        "page": "/models",
        "page, task": "/models?task=other",
        "page, speed": f"/models?device={device}&runtime={runtime}&sort=fastest",
        "page, small fast": f"/models?passes_on={runtime}&max_bytes=100000000&device={device}"
        f"&runtime={runtime}&sort=fastest",
        "page, text": "/models?q=medical",
        "page, usual text": "/models?q=word400",
        "page, no such text": "/models?q=zzqqy",
        "page, typo": "/models?q=resnte",
        "page, two filters": "/models?operator=Operator7&operator=Operator8",
        "page, parameters": "/models?sort=parameters",
        "page, home": "/",
        "feed": "/models.atom",
        "sitemap, last": f"/sitemap-{public_models.pages()}.xml",
        "page, model": model,
        **{f"page, {tab}": f"{model}/v/1/{tab}" for tab in TABS},
    }
    sides.update({name: (through_hub(path), None) for name, path in pages.items()})
    return sides


def measure(runs: int) -> None:
    """Run every question in turn on both sides and print medians, p95, processor time, ratio."""
    heads = ("hub p50", "hub p95", "hub CPU", "queries", "raw p50", "ratio")
    print(f"{'question':<20}" + "".join(f"{head:>10}" for head in heads) + "  (ms)")
    from django.core.cache import cache
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for name, (hub, plain) in questions().items():
        cache.clear()  # the throttle keeps the time of each request of the last minute
        times: dict[Callable[[], bytes], list[float]] = {hub: []}
        if plain:
            times[plain] = []
        for side in times:
            side()
        with CaptureQueriesContext(connection) as captured:
            hub()
        statements = len(captured)  # the next request forgets them
        spent = []
        for _ in range(runs):
            for side, taken in times.items():
                start, used = time.perf_counter(), time.process_time()
                side()
                taken.append((time.perf_counter() - start) * 1000)
                if side is hub:
                    spent.append((time.process_time() - used) * 1000)
        middle = statistics.median(times[hub])
        tail = statistics.quantiles(times[hub], n=20)[18]
        line = f"{name:<20}{middle:>10.2f}{tail:>10.2f}{statistics.median(spent):>10.2f}"
        line += f"{statements:>10}"
        if plain:
            other = statistics.median(times[plain])
            line += f"{other:>10.2f}{middle / other:>10.1f}"
        print(line, flush=True)


def time_downloads() -> None:
    """Print what the downloads of many models take: to write, and to bring to the lists."""
    from registry.core import usage
    from registry.models import RegisteredModel, User, Version

    models = RegisteredModel.objects.filter(versions=None).order_by("pk")[:DOWNLOADED]
    owner = User.objects.get(username="bench-owner")
    drafts = [Version(model=model, number=1, created_by=owner) for model in models]
    for version in Version.objects.bulk_create(drafts):
        usage.notes.add_download(version.pk)
    start = time.perf_counter()
    usage.notes.flush()
    written = time.perf_counter()
    assert usage.refresh_lists() == DOWNLOADED
    refreshed = time.perf_counter()
    usage.refresh_lists()
    nothing = time.perf_counter() - refreshed
    print(
        f"downloads of {DOWNLOADED} models: written in {(written - start) * 1000:.0f} ms, brought "
        f"to the lists in {(refreshed - written) * 1000:.0f} ms; nothing new: "
        f"{nothing * 1000:.0f} ms"
    )


def main() -> None:
    """Make a database of each size and measure it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--filled", action="store_true", help="measure what a run before filled")
    args = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "hub.server.settings"
    os.environ["HUB_LIMITS_ANON_RATE"] = "1000000/min"
    with tempfile.TemporaryDirectory() as home:
        os.environ["HUB_HOME"] = home
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from registry.models import RegisteredModel

        call_command("collectstatic", verbosity=0, interactive=False)
        call_command("migrate", verbosity=0)
        done = RegisteredModel.objects.count()
        for total in [done] if args.filled else args.models:
            fill(total - done)
            done = total
            if connection.vendor == "postgresql":  # SQLite's is not analysed in a hub either
                with connection.cursor() as cursor:
                    cursor.execute("VACUUM ANALYZE")
            print(f"\n{total} models, {connection.vendor}")
            measure(args.runs)
            time_downloads()
        connection.close()


if __name__ == "__main__":
    main()
