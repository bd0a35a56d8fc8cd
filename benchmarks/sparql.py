"""The hub's questions to 10,000 models: against Oxigraph directly, against rdflib, through HTTP.

Each engine is a process of its own that reads the same N-Quads and says its processor time and
memory; every answer is compared with one that was computed from the facts without RDF. Through HTTP
the questions go to a real `hub serve` whose database holds the same graphs; a changing comment
keeps its answers from being remembered. The models are made up (made_up.py).

    python benchmarks/sparql.py                        # 10,000 models
    python benchmarks/sparql.py --models 1000 --runs 5 --without rdflib
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import made_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.graphs.facts import VersionFacts
    from metadata.sparql.example_queries import ExampleQuery

JSON_RESULTS = "application/sparql-results+json"
HTTP = "HTTP p50 / p95"
ENGINES = ("oxigraph memory", "oxigraph disk", "rdflib")
# How long one question may take an engine before its process is killed.
PATIENCE_SECONDS = 60.0
# Which columns of an answer are compared; the others depend on an order that nobody promises.
COLUMNS = {
    "language-models-by-size": ("model", "bytes"),
    "training-carbon": ("model", "kg"),
    "trained-on-personal-data": ("model", "ancestor", "data"),
    "mixed-precision": ("model",),
    "provenance-of-a-version": ("ancestor",),
    "best-measured-accuracy": ("model", "accuracy"),
    "models-by-licence": ("licence", "models"),
    "models-about-digits": ("model",),
    "carbon-by-task": ("task", "models", "total"),
    "less-accurate-than-claimed": ("model", "claimed", "measured"),
    "failed-conformance": ("model", "test"),
    "expects-bgr-images": ("model",),
    "licence-wider-than-ancestors": ("model", "ancestor"),
    "operator-at-old-opset": ("model", "opset"),
}
# Made-up models have no benchmarks.
WITHOUT_DATA = ("fastest-under-a-size",)
OPEN = ("mit", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc0-1.0")


class Truth:
    """What the answers must be, computed from the facts alone."""

    def __init__(self, known: list[VersionFacts], home: str, about: dict[str, str]) -> None:
        from metadata.rdf.iris import Places

        self._known = known
        self._home = home
        self._places = Places(home)
        self._about = about
        self._iri = {
            (one.namespace, one.name): self._places.version(one.namespace, one.name, 1)
            for one in known
        }
        self._of = {self._iri[one.namespace, one.name]: one for one in known}

    def answers(self) -> dict[str, list[tuple[Any, ...]]]:
        """The compared columns of each answer, sorted, and cut where the query cuts."""
        carbon = {iri: kg for iri, one in self._of.items() if (kg := _kilograms(one)) is not None}
        domain = self._places.task("nlp")
        found: dict[str, list[tuple[Any, ...]]] = {
            "language-models-by-size": [
                (iri, _size(one)) for iri, one in self._of.items() if self._domain(one) == domain
            ],
            "training-carbon": list(carbon.items()),
            "trained-on-personal-data": list(self._personal()),
            "mixed-precision": [
                (iri,) for iri, one in self._of.items() if one.variants[0].precision == "mixed"
            ],
            "provenance-of-a-version": [(iri,) for iri in self._ancestors(self._about["V"])],
            "best-measured-accuracy": [
                (iri, measured)
                for iri, one in self._of.items()
                if _size(one) < 50_000_000
                for measured in _measured(one, self._about["D"].rpartition("/")[2])
            ],
            "models-by-licence": _counts(
                self._places.licence("".join(one.licenses)) for one in self._known
            ),
            "models-about-digits": [
                (iri,)
                for iri, one in self._of.items()
                if "digit" in f"{one.name} {one.summary}".lower()
            ],
            "carbon-by-task": self._carbon_by_task(carbon),
            "less-accurate-than-claimed": [
                (iri, claimed, measured)
                for iri, one in self._of.items()
                for data, claimed in _claims(one)
                for measured in _measured(one, made_up.entry_slug(data))
                if claimed - measured >= Decimal("0.05")
            ],
            "failed-conformance": [
                (iri, self._places.test(row.runtime, row.check))
                for iri, one in self._of.items()
                for row in one.results
                if row.outcome == "failed"
            ],
            "expects-bgr-images": [
                (iri,) for iri, one in self._of.items() if one.variants[0].facts.metadata
            ],
            "licence-wider-than-ancestors": [
                (iri, above)
                for iri, one in self._of.items()
                if "".join(one.licenses) in OPEN
                for above in self._ancestors(iri)
                if self._of[above].licenses == ("cc-by-nc-4.0",)
            ],
            "operator-at-old-opset": [
                (iri, Decimal(main.opset or 0))
                for iri, one in self._of.items()
                for main in one.variants
                if (main.opset or 0) <= 16
                and "GridSample" in {row.name for row in main.facts.operators}
            ],
        }
        return {slug: _cut(slug, sorted(set(rows))) for slug, rows in found.items()}

    def _domain(self, one: VersionFacts) -> str:
        from hub.protocol.vocabularies import TASKS

        return self._places.task(TASKS[one.task].domain)

    def _parent(self, iri: str) -> str | None:
        base = self._of[iri].card.get("base_model")
        return self._iri[tuple(base.removesuffix("@1").split("/"))] if base else None

    def _ancestors(self, iri: str) -> Iterator[str]:
        above = self._parent(iri)
        while above:
            yield above
            above = self._parent(above)

    def _personal(self) -> Iterator[tuple[str, str, str]]:
        for iri in self._of:
            for one in (iri, *self._ancestors(iri)):
                for row in self._of[one].card.get("training_data", ()):
                    if row["personal_data"] == "yes":
                        name = urllib.parse.quote(row["name"].lower(), safe="")
                        yield iri, one, f"{one}#data-{name}"

    def _carbon_by_task(self, carbon: dict[str, Decimal]) -> list[tuple[Any, ...]]:
        totals: dict[str, list[Decimal]] = defaultdict(list)
        for iri, kilograms in carbon.items():
            totals[self._places.task(self._of[iri].task)].append(kilograms)
        return [(task, Decimal(len(each)), sum(each)) for task, each in totals.items()]


def _cut(slug: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows that the query's LIMIT leaves."""
    if slug in ("language-models-by-size", "training-carbon"):
        return sorted(sorted(rows, key=lambda row: (row[1], row[0]))[:50])
    if slug == "best-measured-accuracy":
        return sorted(sorted(rows, key=lambda row: (-row[1], row[0]))[:10])
    if slug in ("models-by-licence", "carbon-by-task"):
        return rows
    return rows[: 200 if slug == "trained-on-personal-data" else 50]


def _counts(values: Iterator[str]) -> list[tuple[Any, ...]]:
    counts: dict[str, int] = defaultdict(int)
    for value in values:
        counts[value] += 1
    return [(value, Decimal(count)) for value, count in counts.items()]


def _size(one: VersionFacts) -> Decimal:
    return Decimal(sum(file.size_bytes for file in one.files))


def _kilograms(one: VersionFacts) -> Decimal | None:
    said = one.card.get("co2_eq_emissions")
    return Decimal(said["emissions"]) / 1000 if said else None


def _measured(one: VersionFacts, dataset: str) -> list[Decimal]:
    from hub.protocol.accuracy import stated

    figures = [row.figure for row in one.measured if row.dataset == dataset]
    return [Decimal(repr(stated(figure.value))) for figure in figures if figure.value is not None]


def _claims(one: VersionFacts) -> Iterator[tuple[str, Decimal]]:
    for model in one.card.get("model-index", ()):
        for result in model["results"]:
            for metric in result["metrics"]:
                yield result["dataset"]["type"], Decimal(str(metric["value"]))


def plain(slug: str, answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The compared columns of an answer in SPARQL's JSON, sorted."""
    rows = set()
    for binding in answer["results"]["bindings"]:
        cells = [binding[name] for name in COLUMNS[slug]]
        rows.add(tuple(_value(cell) for cell in cells))
    return sorted(rows)


def _value(cell: dict[str, str]) -> Any:
    numeric = cell.get("datatype", "").endswith(("decimal", "integer", "Integer"))
    return Decimal(cell["value"]) if numeric else cell["value"]


def run_engine(name: str, quads: Path, asked: Path, runs: int) -> None:
    """In a process of its own: load, then answer; one line of JSON for each."""
    began = time.process_time()
    evaluate = _oxigraph(quads, on_disk=name.endswith("disk")) if "oxi" in name else _rdflib(quads)
    _tell(load_seconds=time.process_time() - began, memory_mib=_memory())
    for slug, query in json.loads(asked.read_text()).items():
        taken = []
        try:
            for _ in range(runs):
                began = time.process_time()
                answer = evaluate(query)
                taken.append((time.process_time() - began) * 1000)
        except Exception as error:  # noqa: BLE001 - one engine's fault is a line of the table
            _tell(slug=slug, failed=type(error).__name__)
            continue
        _tell(slug=slug, ms=statistics.median(taken), answer=answer.decode())
    _tell(memory_mib=_memory())


def _oxigraph(quads: Path, *, on_disk: bool) -> Any:
    import pyoxigraph

    folder = quads.with_suffix(".store")
    store = pyoxigraph.Store(folder) if on_disk else pyoxigraph.Store()
    with quads.open("rb") as reader:
        store.bulk_load(input=reader, format=pyoxigraph.RdfFormat.N_QUADS)
    if on_disk:
        # As the hub does: without it a question takes up to ten times as long at 100,000 models.
        store.optimize()
        store.flush()
        del store
        store = pyoxigraph.Store.read_only(str(folder))

    def evaluate(query: str) -> bytes:
        found = store.query(query, use_default_graph_as_union=True)
        if isinstance(found, pyoxigraph.QueryTriples):
            return found.serialize(format=pyoxigraph.RdfFormat.N_TRIPLES) or b""
        return found.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b""

    return evaluate


def _rdflib(quads: Path) -> Any:
    from rdflib import Dataset

    store = Dataset(default_union=True)
    store.parse(quads, format="nquads")

    def evaluate(query: str) -> bytes:
        found = store.query(query)
        form = "nt" if found.type == "CONSTRUCT" else "json"
        return found.serialize(format=form) or b""

    return evaluate


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tell(**words: Any) -> None:
    print(json.dumps(words), flush=True)


def measure_engine(name: str, quads: Path, asked: Path, runs: int) -> tuple[dict[str, Any], Any]:
    """What an engine's process says of itself, and its answers: slug -> (ms, answer)."""
    left = dict(json.loads(asked.read_text()))
    itself: dict[str, Any] = {}
    answers: dict[str, tuple[float, str] | str] = {}
    while left:
        part = asked.with_name(f"left-{len(left)}.json")
        part.write_text(json.dumps(left))
        command = [sys.executable, __file__, "--engine", name, str(quads), str(part), str(runs)]
        for said in _lines(command, loading=3600.0, patience=PATIENCE_SECONDS * runs):
            if "slug" in said:
                told = said.get("failed") or (said["ms"], said["answer"])
                answers[said["slug"]] = told
                left.pop(said["slug"])
            else:
                itself.update(said)
        shutil.rmtree(quads.with_suffix(".store"), ignore_errors=True)
        if left:  # the one that it was at took too long: go on after it
            slug = next(iter(left))
            answers[slug] = f"> {PATIENCE_SECONDS:.0f} s"
            left.pop(slug)
    return itself, answers


def _lines(command: list[str], *, loading: float, patience: float) -> Iterator[dict[str, Any]]:
    """What a process says, until it ends or is silent for too long and is killed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        waiting = selectors.DefaultSelector()
        waiting.register(child.stdout, selectors.EVENT_READ)
        seconds = loading
        while waiting.select(seconds):
            line = child.stdout.readline()
            if not line:
                break
            yield json.loads(line)
            seconds = patience
        child.kill()


class LiveHub:
    """A real `hub serve` whose database holds the given graphs."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.address = f"http://127.0.0.1:{port}"
        self._port = port

    def fill(self, graphs: dict[str, str]) -> None:
        """Write the rows, as the newest revisions."""
        from django.core.management import call_command

        from metadata.models import Comparison, NamedGraph, Revision
        from metadata.nightly import FORM
        from metadata.store.services import digest

        call_command("migrate", verbosity=0)
        rows = [
            NamedGraph(iri=iri, nquads=text, sha256=digest(text), revision=place)
            for place, (iri, text) in enumerate(graphs.items(), start=1)
        ]
        NamedGraph.objects.bulk_create(rows, batch_size=500)
        Revision.objects.update_or_create(pk=1, defaults={"number": len(rows)})
        # There are no models behind these graphs: the nightly comparison would empty them.
        later = datetime(2999, 1, 1, tzinfo=UTC)
        Comparison.objects.create(
            pk=1, ok=True, started_at=later, finished_at=later, address=self.address, form=FORM
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The hub, from its start until it answers questions and has written its dump."""
        command = [sys.executable, "-m", "hub", "serve", "--home", str(self.folder)]
        command += ["--port", str(self._port), "--no-samples", "--no-worker"]
        with (self.folder / "log").open("wb") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            began = time.monotonic()
            while not self._is_ready():
                assert child.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.2)
            print(f"hub serve answers questions after {time.monotonic() - began:.1f} s", flush=True)
            dump = self.folder / "storage" / "periodic" / "dump.json"
            while not dump.exists():
                time.sleep(0.2)
            yield
        finally:
            child.terminate()
            child.wait()

    def ask(self, query: str, accept: str = JSON_RESULTS) -> bytes:
        """The answer over HTTP, by direct POST."""
        headers = {"Content-Type": "application/sparql-query", "Accept": f"{accept}, */*;q=0.1"}
        asked = urllib.request.Request(f"{self.address}/sparql", query.encode(), headers)
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return bytes(answer.read())

    def _is_ready(self) -> bool:
        try:
            return b"true" in self.ask("ASK { ?model a <https://w3id.org/fair4ml#MLModel> }")
        except OSError:
            return False

    def measure(self, query: str, accept: str, runs: int) -> tuple[float, float, bytes]:
        """p50 and p95 in milliseconds, and the answer."""
        taken, answer = [], b""
        for turn in range(runs):
            began = time.perf_counter()
            answer = self.ask(f"{query}\n# {turn}", accept)
            taken.append((time.perf_counter() - began) * 1000)
        return statistics.median(taken), statistics.quantiles(taken, n=20)[18], answer

    def measure_change(self, iri: str, runs: int) -> list[float]:
        """Seconds from the commit of a graph's new text to its being seen through HTTP."""
        from metadata.store import services

        taken = []
        for turn in range(runs):
            word = f"changed {time.time_ns()} {turn}"
            services.put_graph(
                iri, f'<{iri}#x> <http://purl.org/dc/terms/title> "{word}" <{iri}> .\n'
            )
            began = time.perf_counter()
            while b"true" not in self.ask(f'ASK {{ ?s ?p "{word}" }}'):
                time.sleep(0.02)
            taken.append(time.perf_counter() - began)
        return taken


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def graphs_of(known: list[VersionFacts], home: str) -> dict[str, str]:
    """Every graph of a hub that has these models."""
    from metadata.graphs import facts, projection, references
    from metadata.rdf.iris import Places, graph_of

    places = Places(home)
    found = {places.catalogue: projection.catalogue_graph(home)}
    for one in known:
        iri = graph_of(places.version(one.namespace, one.name, 1))
        found[iri] = projection.version_graph(one, home)
    for model in made_up.models(known):
        iri = graph_of(places.model(model.namespace.name, model.name))
        found[iri] = projection.model_graph(model, home)
    for entity in sorted(
        {one for text in found.values() for one in references.named_in(text, home)}
    ):
        agent = facts.AgentFacts(entity.login)
        found[entity.graph(home)] = projection.entity_graph(entity, agent, home)
    return found


def questions_about(
    known: list[VersionFacts], home: str
) -> tuple[dict[str, str], list[ExampleQuery]]:
    """The fifteen questions, about a version with ancestors and a data set with measurements."""
    from metadata.rdf.iris import Places
    from metadata.sparql import example_queries

    tuned = next(one for one in reversed(known) if "base_model" in one.card)
    data = next(row.dataset for one in known for row in one.measured)
    places = Places(home)
    about = {"V": places.version(tuned.namespace, tuned.name, 1), "D": places.dataset(data)}
    asked = example_queries.filled(home, about)
    return about, [one for one in asked if one.slug not in WITHOUT_DATA]


def main() -> None:
    """Make the graphs, ask every engine, then a live hub."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--without", nargs="*", default=[], help="engines to leave out")
    parser.add_argument("--engine", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine:
        name, quads, asked, runs = args.engine
        run_engine(name, Path(quads), Path(asked), int(runs))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), args.models, args.runs, args.without)


def measure(folder: Path, models: int, runs: int, without: list[str]) -> None:
    """Everything, in one temporary folder."""
    hub = LiveHub(folder / "home", free_port())
    hub.folder.mkdir()
    set_up(hub)
    known = made_up.versions(models)
    began = time.process_time()
    graphs = graphs_of(known, hub.address)
    seconds = time.process_time() - began
    lines = sum(text.count("\n") for text in graphs.values())
    say(
        f"{models} models: {len(graphs)} graphs, {lines} quads ({lines / models:.0f} a model), "
        f"projected in {seconds:.1f} s of processor time"
    )
    about, asked = questions_about(known, hub.address)
    judge = Judge(
        Truth(known, hub.address, about).answers(), graphs[f"{about['V']}/metadata"].count("\n")
    )
    table: dict[str, dict[str, str]] = {one.slug: {} for one in asked}
    ask_engines(
        [name for name in ENGINES if name not in without], folder, graphs, asked, judge, table
    )
    hub.fill(graphs)
    with hub.running():
        ask_hub(hub, asked, runs, judge, table)
        changes = hub.measure_change(next(reversed(graphs)), runs)
    say(
        f"one graph replaced: seen after {statistics.median(changes):.2f} s "
        f"(longest of {runs}: {max(changes):.2f} s)"
    )
    names = [name for name in (*ENGINES, HTTP) if name not in without]
    print("\nmilliseconds of processor time (ratio to the first engine); HTTP: wall milliseconds")
    print("| question | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for slug, row in table.items():
        print(f"| {slug} | " + " | ".join(row.get(name, "-") for name in names) + " |")


def set_up(hub: LiveHub) -> None:
    """Django in this process, on the database of the hub that will run."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "HUB_HOME": str(hub.folder),
        "HUB_PUBLIC_URL": hub.address,
        "HUB_LIMITS_ANON_RATE": "1000000/min",
        "HUB_SPARQL_MINUTE_SECONDS": "1000000",
    }
    import django

    django.setup()


def ask_engines(
    names: list[str],
    folder: Path,
    graphs: dict[str, str],
    asked: list[ExampleQuery],
    judge: Judge,
    table: dict[str, dict[str, str]],
) -> None:
    """Every engine by itself; ratios are to the first of them."""
    quads, questions = folder / "all.nq", folder / "questions.json"
    quads.write_text("".join(graphs.values()))
    questions.write_text(json.dumps({one.slug: one.query for one in asked}))
    base: dict[str, float] = {}
    for name in names:
        itself, answers = measure_engine(name, quads, questions, 1 if name == "rdflib" else 5)
        say(
            f"{name}: loaded in {itself['load_seconds']:.1f} s of processor time, "
            f"{itself['memory_mib']:.0f} MiB at most"
        )
        for slug, found in answers.items():
            if isinstance(found, str):
                table[slug][name] = found
                continue
            first = base.setdefault(slug, found[0])
            table[slug][name] = judge(slug, found[1], f"{found[0]:.1f} ({found[0] / first:.1f})")


def ask_hub(
    hub: LiveHub,
    asked: list[ExampleQuery],
    runs: int,
    judge: Judge,
    table: dict[str, dict[str, str]],
) -> None:
    """Every question through HTTP."""
    for one in asked:
        accept = JSON_RESULTS if one.slug in COLUMNS else "application/n-triples"
        try:
            hub.ask(one.query, accept)
            middle, tail, answer = hub.measure(one.query, accept, runs)
        except urllib.error.HTTPError as error:
            table[one.slug][HTTP] = f"status {error.code}"
            continue
        table[one.slug][HTTP] = judge(one.slug, answer.decode(), f"{middle:.0f} / {tail:.0f}")


class Judge:
    """Whether an answer is what the facts say."""

    def __init__(self, truth: dict[str, list[tuple[Any, ...]]], triples: int) -> None:
        self._truth = truth
        self._triples = triples

    def __call__(self, slug: str, answer: str, figure: str) -> str:
        """The figure of a right answer; of another one how it differs."""
        if slug not in COLUMNS:
            found = len({line for line in answer.splitlines() if line.strip()})
            wanted = self._triples
            is_right = found == wanted
        else:
            rows = plain(slug, json.loads(answer))
            found, wanted = len(rows), len(self._truth[slug])
            is_right = rows == self._truth[slug]
        return figure if is_right else f"WRONG: {found} rows, {wanted} wanted"


def say(words: str) -> None:
    """One line, at once."""
    print(words, flush=True)


if __name__ == "__main__":
    main()
