"""Files of results, `.eval_results/*.yaml`: claims of a version, and what this hub measured."""

from __future__ import annotations

import pytest
import yaml

from metadata.graphs import projection, selectors
from registry.cards import claims, result_files
from registry.models import Version
from registry.versions import lifecycle
from runners.evaluations import selectors as evaluations
from tests import evaluated, factories, samples
from tests.api.protocols.huggingface.conftest import body, refused

pytestmark = pytest.mark.django_db
PATH = ".eval_results/measured-by-this-hub.yaml"
HLE = b"""- dataset: {id: cais/hle, task_id: default, revision: 5503434d}
  value: 20.9
  verifyToken: eyJhbGciOi
  date: "2026-01-15"
  source: {url: https://example.org/logs, name: Eval logs, user: ada}
  notes: no-tools
- dataset: {id: stones, task_id: accuracy}
  value: 0.9
"""
BAD = b"- dataset: {id: cais/hle}\n  value: high\n"
HOSTILE = b"- dataset: {id: &a [*a]}\n  value: 1\n"


def published(ada, files, **fields):
    contents = {"model.onnx": samples.mlp(), **files}
    return Version.objects.get(pk=factories.published(ada, contents=contents, **fields).pk)


def test_a_file_of_results_is_a_claim_on_page_api_and_graph(api, ada, graphs):
    version = published(ada, {".eval_results/hle.yaml": HLE, ".eval_results/notes.txt": b"x"})
    (first, second) = claims.of(version.typed_card)
    assert (first.names, first.metric, first.value) == (("cais/hle",), "default", 20.9)
    assert (first.file, first.source) == (".eval_results/hle.yaml", "https://example.org/logs")
    assert second.metric == "accuracy"

    rows = api().get("/api/v1/models/ada/net/versions/1").json()["eval_results"]
    assert [(row["status"], row["dataset"]["id"]) for row in rows] == [
        ("declared", "cais/hle"),
        ("declared", "stones"),
    ]
    assert rows[0]["verifyToken"] == "eyJhbGciOi"

    page = api().get("/models/ada/net").content.decode()
    text = " ".join(page.split())
    assert "in .eval_results/hle.yaml" in text
    assert 'href="https://example.org/logs" rel="nofollow noopener ugc"' in text
    assert "not verified" in text
    assert "The data set is not on this hub." in text

    nquads = projection.version_graph(selectors.version_facts(version), "https://hub.example")
    assert "https://example.org/logs" in nquads
    assert '"20.9"' in nquads


def test_the_card_of_the_protocol_is_that_of_the_readme(api, ada, lists):
    version = published(ada, {".eval_results/hle.yaml": HLE})
    info = api().get("/api/models/ada/net?expand=evalResults&expand=cardData").json()
    assert "eval_results" not in info["cardData"]
    listed = api().get("/api/models?expand=cardData").json()
    assert "eval_results" not in listed[0]["cardData"]
    first = info["evalResults"][0]
    assert (first["filename"], first["verified"]) == (".eval_results/hle.yaml", False)
    assert first["data"] == yaml.safe_load(HLE)[0]
    assert "evalResults" not in api().get("/api/models/ada/net").json()
    assert result_files.without_files(version.card).keys() == {"license"} | (
        version.card.keys() - {"eval_results"}
    )


def test_a_file_that_cannot_be_read_is_named_and_stops_no_publication(api, ada, graphs):
    files = {
        ".eval_results/bad.yaml": BAD,
        ".eval_results/hostile.yaml": HOSTILE,
        ".eval_results/latin.yaml": b"\xff",
        ".eval_results/large.yaml": b"# " + b"x" * result_files.LIMIT_BYTES,
    }
    version = published(ada, files)
    assert version.state == "published"
    assert claims.of(version.typed_card) == []
    rows = api().get("/api/models/ada/net?expand=evalResults").json()["evalResults"]
    errors = {row["filename"].rpartition("/")[2]: row["error"] for row in rows}
    assert "value must be a number" in errors["bad.yaml"]
    assert "UTF-8" in errors["latin.yaml"]
    assert "at most 100,000 bytes" in errors["large.yaml"]
    assert errors.keys() == {"bad.yaml", "hostile.yaml", "latin.yaml", "large.yaml"}
    page = " ".join(api().get("/models/ada/net").content.decode().split())
    assert ".eval_results/bad.yaml is not read:" in page


def test_the_number_of_files_and_rows_is_bounded(ada):
    many = b"".join(b"- {dataset: {id: a}, value: %d}\n" % at for at in range(150))
    files = {f".eval_results/{at:02}.yaml": many for at in range(result_files.MOST_FILES + 1)}
    version = published(ada, files)
    assert len(version.card["eval_results"]) == result_files.MOST_ROWS


def test_a_rejected_draft_has_the_card_of_its_readme_again(ada):
    card = "---\nlicense: mit\neval_results:\n- {dataset: {id: own}, value: 1}\n---\n# A model\n"
    version = factories.submitted(
        ada, contents={"model.onnx": samples.mlp(), ".eval_results/hle.yaml": HLE}, card=card
    )
    version.refresh_from_db()
    assert [row["dataset"]["id"] for row in version.card["eval_results"]] == [
        "own",
        "cais/hle",
        "stones",
    ]
    lifecycle.reopen(version)
    version.refresh_from_db()
    assert [row["dataset"]["id"] for row in version.card["eval_results"]] == ["own"]


def test_a_claim_of_a_file_is_measured_like_that_of_a_card(ada):
    evaluated.stones(ada)
    version = published(ada, {".eval_results/hle.yaml": HLE})
    reasons = {row.claim.dataset: row.reason for row in evaluations.overview(version).unmeasured}
    assert reasons == {
        "cais/hle": "The data set is not on this hub.",
        "stones": "The card names no split.",
    }


def test_measured_figures_are_a_file_that_no_commit_has(api, ada):
    version = published(ada, {}, card=evaluated.card(("accuracy", 0.9)))
    refused(api().get(f"/ada/net/resolve/main/{PATH}"), 404, "EntryNotFound")
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    measured = evaluations.rows_of(version).filter(metric="accuracy").get()
    for revision in ("main", "v1", version.commit_id):
        answer = api().get(f"/ada/net/resolve/{revision}/{PATH}")
        assert answer.status_code == 200, revision
        assert answer["X-Repo-Commit"] == version.commit_id
        assert "immutable" not in answer["Cache-Control"]
        entries = {row["dataset"]["task_id"]: row for row in yaml.safe_load(body(answer))}
    entry = entries["test:accuracy"]
    assert entry["value"] == pytest.approx(measured.value)
    assert entry["dataset"] == {"id": "stones", "task_id": "test:accuracy", "revision": "1"}
    assert entry["source"]["url"].endswith("/models/ada/net/v/1#accuracy")
    assert entry["notes"].startswith("measured: accuracy of default on 50 rows of test, 95 % ")
    assert "verifyToken" not in entry
    listed = api().get("/api/models/ada/net?expand=evalResults").json()["evalResults"]
    assert [row["data"]["dataset"]["task_id"] for row in listed if row["filename"] == PATH] == [
        *entries
    ]
    raw = body(api().get(f"/ada/net/raw/main/{PATH}"))
    assert yaml.safe_load(raw) == list(entries.values())
    head = api()("HEAD", f"/ada/net/resolve/main/{PATH}")
    assert int(head["Content-Length"]) == len(raw)
    again = api().get(f"/ada/net/resolve/main/{PATH}", **{"If-None-Match": head["ETag"]})
    assert again.status_code == 304
    tree = api().get("/api/models/ada/net/tree/main?recursive=true").json()
    assert PATH not in {row["path"] for row in tree}


def test_a_committed_file_of_that_name_is_what_was_committed(api, ada):
    published(ada, {PATH: HLE})
    assert body(api().get(f"/ada/net/resolve/main/{PATH}")) == HLE


def test_who_may_not_have_the_files_gets_no_figures(api, ada):
    version = published(ada, {".eval_results/hle.yaml": HLE}, card=evaluated.card(("accuracy", 1)))
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    version.model.visibility = "private"
    version.model.save()
    for address in (f"/ada/net/resolve/main/{PATH}", "/api/models/ada/net?expand=evalResults"):
        assert api().get(address).status_code == 401
        assert api(ada).get(address).status_code == 200
