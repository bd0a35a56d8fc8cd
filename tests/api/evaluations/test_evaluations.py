"""Evaluations over HTTP and in the graphs: who may ask and see, and what is answered."""

from __future__ import annotations

import pyoxigraph
import pytest

from frontend.presenters import comparison
from metadata.models import NamedGraph
from registry.core import outbox
from registry.models import RegisteredModel
from registry.versions import evidence
from registry.versions.services import registered_models
from tests import evaluated, factories, pages, proven, shared
from tests.evaluated import card

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    """A version that claims 0.95 on `stones`, which has a split `test`."""
    owner = factories.user("ada")
    version = factories.published(owner, card=card(("accuracy", 0.95)))
    evaluated.stones(owner)
    return owner, version


@pytest.fixture
def version(start, db):
    return shared.fresh(start[1])


@pytest.fixture
def owner(start, db):
    return shared.fresh(start[0])


@pytest.fixture
def place(version):
    return f"/api/v1/models/{version.model.ref}/versions/{version.number}/evaluations"


@pytest.fixture
def as_owner(owner):
    return {"HTTP_AUTHORIZATION": f"Bearer {factories.token(owner)}"}


def post(client, path, data, headers):
    return client.post(path, data, content_type="application/json", **headers)


def test_measurements_are_listed_beside_claims(client, place, version):
    assert client.get(place).json() == {"items": [], "next": None}
    (job,) = evaluated.waiting()
    evaluated.end(job)
    (item,) = client.get(place).json()["items"]
    assert item.pop("at")
    # As a discussion names it.
    words = evidence.of_kind("evaluation").describe(version, item.pop("id"))
    assert words == "accuracy 0.8 on stones, test, default"
    assert item == {
        "variant": "default",
        "entry_sha256": f"sha256:{version.files.get(path='model.onnx').blob_id}",
        "dataset": "stones",
        "dataset_version": 1,
        "split": "test",
        "metric": "accuracy",
        "value": 0.8,
        "low": 0.7,
        "high": 0.9,
        "interval_level": 95,
        "interval_method": "Clopper-Pearson",
        "arithmetic": "",
        "rows": 50,
        "claimed": 0.95,
        "less_than_claimed": True,
        "pairs": None,
        "method": {"version": "2", "resamples": 2000, "seed": 7},
        "predictions_sha256": f"sha256:{evaluated.DIGEST}",
        "runtime": "onnxruntime",
        "runtime_version": "1.31.1",
        "environment": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
        "job": str(job.pk),
    }


def test_a_maintainer_asks_for_an_evaluation(client, place, as_owner):
    wish = {"dataset": "Stones", "split": "test", "version": 1, "variant": "default"}
    answer = post(client, place, wish, as_owner)
    assert answer.status_code == 202, answer.content
    job = answer.json()
    assert (job["kind"], job["state"], job["priority"]) == ("evaluation", "queued", 2)
    assert answer["Location"].endswith(f"/api/v1/jobs/{job['uuid']}")
    assert [str(one.pk) for one in evaluated.waiting()] == [job["uuid"]]


@pytest.mark.parametrize(
    ("wish", "status", "pointer", "words"),
    [
        ({"dataset": "pebbles", "split": "test"}, 400, "/dataset", "no data set 'pebbles'"),
        ({"dataset": "stones", "split": "dev"}, 400, "/split", "Its splits: test."),
        ({"dataset": "stones", "split": "test", "version": 9}, 400, "/version", "no version 9"),
        ({"dataset": "stones"}, 400, "/split", "required"),
        ({"dataset": "stones", "split": "test", "version": 0}, 400, "/version", "1"),
    ],
)
def test_a_wish_that_cannot_be_met_names_its_field(
    client, place, as_owner, wish, status, pointer, words
):
    answer = post(client, place, wish, as_owner)
    assert answer.status_code == status, answer.content
    (error,) = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert words in error["detail"]


def test_an_unknown_variant_is_not_found(client, place, as_owner):
    wish = {"dataset": "stones", "split": "test", "variant": "int8"}
    assert post(client, place, wish, as_owner).status_code == 404


def test_others_may_look_and_not_ask(client, place):
    stranger = {"HTTP_AUTHORIZATION": f"Bearer {factories.token(factories.user('eve'))}"}
    wish = {"dataset": "stones", "split": "test"}
    assert client.get(place).status_code == 200
    assert post(client, place, wish, stranger).status_code == 403
    assert post(client, place, wish, {}).status_code == 401


def test_a_private_model_shows_no_measurement(client, version, place, as_owner):
    (job,) = evaluated.waiting()
    evaluated.end(job)
    RegisteredModel.objects.update(visibility="private")
    for path in (place, f"/api/v1/jobs/{job.pk}"):
        assert client.get(path).status_code == 404, path
        assert client.get(path, **as_owner).status_code == 200, path


HOME = "http://testserver"


def graph_of(version):
    iri = f"{HOME}/models/{version.model.ref}/v/{version.number}/metadata"
    row = NamedGraph.objects.filter(iri=iri).first()
    return row.nquads if row else ""


def test_a_measurement_stands_in_the_graph_beside_the_claim(version, graphs):
    (job,) = evaluated.waiting()
    evaluated.end(job)
    text = graph_of(version)
    here = f"{HOME}/models/{version.model.ref}/v/{version.number}"
    node = f"<{here}#eval-measured-{job.evaluations.get().pk}>"
    dqv, fair = "http://www.w3.org/ns/dqv#", "https://w3id.org/fair4ml#"
    for part in (
        f'{node} <{dqv}value> "0.8"^^',
        f"{node} <{dqv}computedOn> <{here}> ",
        f"{node} <{dqv}isMeasurementOf> <{HOME}/metrics/accuracy> ",
        f"{node} <{fair}evaluationDataset> <{HOME}/datasets/stones> ",
        f"{node} <http://www.w3.org/ns/prov#wasAttributedTo> <{HOME}/agents/worker> ",
        f'{node} <{HOME}/ns#intervalLow> "0.7"^^',
        f'{node} <{HOME}/ns#intervalHigh> "0.9"^^',
        f'{node} <{HOME}/ns#intervalLevel> "0.95"^^',
        f'{node} <{HOME}/ns#intervalMethod> "Clopper-Pearson"',
        f'{node} <{HOME}/ns#evaluatedRows> "50"^^',
        f'{node} <{HOME}/ns#split> "test"',
        f'{node} <{HOME}/ns#predictionsDigest> "{evaluated.DIGEST}"',
    ):
        assert part in text, part
    claim = f"<{here}#eval-1>"
    assert f"{claim} <{fair}evaluationDataset> <{HOME}/datasets/stones> " in text


@pytest.mark.usefixtures("graphs", "lists")
def test_a_variant_is_compared_with_its_source_row_by_row(client, place, version):
    """Of 50 rows the original has the last 10 wrong, the variant the first 4 and the last 6."""
    (job,) = evaluated.waiting()
    evaluated.end(job, evaluated.report(right=range(40)))
    proven.convert(version)
    outbox.deliver()
    (job,) = evaluated.waiting(entry="model.int8.onnx")
    evaluated.end(job, evaluated.report(right=range(4, 44)))
    rows = {item["variant"]: item["pairs"] for item in client.get(place).json()["items"]}
    assert rows["default"] is None
    p_value = rows["int8"].pop("p_value")
    assert rows["int8"] == {"rows": 50, "gains": 4, "losses": 4, "difference": 0.0}
    assert p_value == 1
    page = client.get(f"/models/{version.model.ref}/v/{version.number}").content.decode()
    assert "4 rows right instead of wrong, 4 wrong instead of right" in page
    assert "exact test, p = 1)" in page


def test_bits_that_contradict_the_accuracy_are_not_compared(client, place, version):
    (job,) = evaluated.waiting()
    evaluated.end(job, evaluated.report(right=range(40)))
    proven.convert(version)
    outbox.deliver()
    (job,) = evaluated.waiting(entry="model.int8.onnx")
    evaluated.end(job, evaluated.report(right=range(41)))
    items = client.get(place).json()["items"]
    assert [item["pairs"] for item in items] == [None, None]


def test_the_measurement_of_a_variant_is_its_own(version, graphs):
    evaluated.end(evaluated.waiting()[0])
    proven.convert(version)
    outbox.deliver()
    (job,) = evaluated.waiting(entry="model.int8.onnx")
    evaluated.end(job, evaluated.report([("accuracy", 0.7, 0.6, 0.8)]))
    here = f"{HOME}/models/{version.model.ref}/v/{version.number}"
    quads = pyoxigraph.parse(graph_of(version), format=pyoxigraph.RdfFormat.N_QUADS)
    subjects = {
        (quad.subject.value, quad.object.value)
        for quad in quads
        if quad.predicate.value == "http://www.w3.org/ns/dqv#computedOn"
    }
    node = f"{here}#eval-measured-{job.evaluations.get().pk}"
    assert (node, f"{here}#variant-int8") in subjects


def test_the_graph_of_a_private_model_is_empty(version, owner, graphs):
    evaluated.end(evaluated.waiting()[0])
    registered_models.edit(owner, model=version.model, visibility="private")
    outbox.deliver()
    assert graph_of(version) == ""
    assert not NamedGraph.objects.filter(nquads__contains="eval-measured").exists()


def test_the_page_shows_claim_measurement_and_status(client, version, graphs):
    page = f"/models/{version.model.ref}/v/{version.number}"
    text = " ".join(client.get(page).content.decode().split())
    assert "Accuracy 95 % claimed on Stones, test:" in text
    assert ">queued</a>" in text
    evaluated.end(evaluated.waiting()[0])
    text = " ".join(client.get(page).content.decode().split())
    assert "80 %</a>" in text
    assert "95 %: 70 % to 90 %</small>" in text
    assert "Intervals: Clopper-Pearson, covers at least 95 %, whatever the share." in text
    assert "less than claimed" in text
    assert "test, 50 rows" in text


def test_the_page_of_the_job_names_its_figures(client, version):
    (job,) = evaluated.waiting()
    evaluated.end(job)
    text = " ".join(client.get(f"/jobs/{job.pk}").content.decode().split())
    assert "Measure accuracy" in text
    assert f'href="/models/{version.model.ref}/v/1#accuracy"' in text
    assert "Accuracy: 80 %" in text


def test_the_comparison_names_the_split_of_each_figure(client, version):
    evaluated.end(evaluated.waiting()[0])
    proven.convert(version)
    outbox.deliver()
    evaluated.end(evaluated.waiting()[0], evaluated.report([("accuracy", 0.7, 0.6, 0.8)]))
    address = comparison.address([version.ref, f"{version.ref}:int8"])
    text = pages.text(pages.tree(client.get(address).content.decode()))
    assert "80 % 95 %: 70 % to 90 % on stones@1, test" in text
    assert "70 % 95 %: 60 % to 80 % on stones@1, test" in text
