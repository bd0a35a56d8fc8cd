"""Rules of aliases: what they demand, what a version lacks, and moves that override them."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from registry.models import AliasRule, Event, Membership, Ref
from registry.versions.services import refs
from tests import evaluated, factories, proven, samples, shared
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
NET = "models/ada/net"
ALIAS = f"{NET}/refs/champion"
RULE = f"{NET}/alias-rules/champion"
CONFORMANCE = {"kind": "conformance", "runtimes": 2}
METRIC = {"kind": "metric", "metric": "accuracy", "dataset": "stones", "split": ""}


@shared.rows
def start():
    """ada/net with two published versions, which claim an accuracy on a data set with a split."""
    ada = factories.somebody("ada")
    evaluated.stones(ada)
    card = evaluated.card(("accuracy", 0.8))
    first = factories.version(ada, card=card)
    factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=9)}, card=card)
    return first.model


@pytest.fixture
def net(start, db):
    return shared.fresh(start)


def move(client, number, **fields):
    return client.put(ALIAS, {"kind": "alias", "version": number, **fields})


def demand(client, *conditions):
    return client.put(RULE, {"conditions": list(conditions)})


def measured(net, number, value, **options):
    version = net.versions.get(number=number)
    (job,) = evaluated.waiting(version=version)
    evaluated.end(job, evaluated.report([("accuracy", value, value - 0.1, value + 0.1)]))


def test_a_rule_is_set_listed_and_deleted(api, ada, net):
    client = api(ada)
    made = demand(client, {"kind": "conformance"}, METRIC)
    assert made.status_code == 201
    [rule] = api().get(f"{NET}/alias-rules").json()["items"]
    assert rule["conditions"] == [{"kind": "conformance", "runtimes": 1}, METRIC]
    assert rule["sentences"] == [
        "conformance passed on 1 runtime",
        "accuracy on stones not below that of the present version",
    ]
    assert rule["author"] == "ada"
    assert demand(client, CONFORMANCE).status_code == 200
    assert client.delete(RULE).status_code == 204
    assert api().get(f"{NET}/alias-rules").json()["items"] == []
    problem(client.delete(RULE), 404, "not-found")
    verbs = Event.objects.filter(verb__startswith="alias-rule.").order_by("pk")
    assert [*verbs.values_list("verb", flat=True)] == [
        "alias-rule.set",
        "alias-rule.set",
        "alias-rule.deleted",
    ]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"kind": "luck"}, "'luck' is no kind of condition. Known: conformance (runtimes)"),
        ({}, "is no kind of condition"),
        ({"kind": ["conformance"]}, "is no kind of condition"),
        ({"kind": "conformance", "colour": 1}, "has no value 'colour'. Its values: runtimes."),
        ({"kind": "conformance", "runtimes": 0}, "runtimes must be between 1 and 20"),
        ({"kind": "conformance", "runtimes": True}, "runtimes is no int"),
        ({"kind": "metric", "metric": "beauty", "dataset": "x"}, "metric must be one of accuracy"),
        ({"kind": "metric", "metric": "accuracy"}, "dataset is missing"),
        ({"kind": "upgrade", "opset": 21, "strength": "partial"}, "strength must be one of"),
    ],
)
def test_a_condition_that_cannot_be_checked_is_refused(api, ada, net, condition, words):
    document = problem(demand(api(ada), CONFORMANCE, condition), 400, "invalid-request")
    assert words in document["detail"]
    assert document["errors"][0]["pointer"] == "/conditions/1"
    assert not AliasRule.objects.exists()


def test_rules_are_bounded_and_never_empty(api, ada, net):
    problem(demand(api(ada)), 400, "invalid-request")
    problem(demand(api(ada), *[CONFORMANCE] * 21), 400, "invalid-request")
    with pytest.raises(IntegrityError), transaction.atomic():
        AliasRule.objects.create(model=net, alias="champion", conditions=[], author=ada)


def test_rules_are_set_by_those_who_may_move_aliases(api, ada, bob, net):
    problem(demand(api(), CONFORMANCE), 401, "not-authenticated")
    Membership.objects.create(namespace=net.namespace, user=bob, role="writer")
    problem(demand(api(bob), CONFORMANCE), 403, "not-allowed")
    Membership.objects.update(role="maintainer")
    assert demand(api(bob), CONFORMANCE).status_code == 201


def test_conformance_is_counted_by_runtimes(api, ada, net):
    client = api(ada)
    demand(client, CONFORMANCE)
    document = problem(move(client, 1), 409, "conditions-unmet")
    assert "conformance passed on 2 runtimes (passed on none)" in document["detail"]
    version = net.versions.get(number=1)
    proven.conformance(version, [proven.measure("reference")])
    assert "(passed on onnxruntime)" in move(client, 1).json()["detail"]
    assert not Ref.objects.filter(kind="alias").exists()
    second = proven.measure("reference", runtime="openvino")
    proven.conformance(version, [second], runtime="openvino")
    assert move(client, 1).status_code == 201


def test_a_metric_is_compared_with_that_of_the_present_version(api, ada, net):
    client = api(ada)
    demand(client, METRIC)
    assert "(not measured for version 1)" in move(client, 1).json()["detail"]
    measured(net, 1, 0.8)
    assert move(client, 1).status_code == 201
    assert "(not measured for version 2)" in move(client, 2).json()["detail"]
    measured(net, 2, 0.75)
    document = problem(move(client, 2), 409, "conditions-unmet")
    assert document["conditions"] == [
        {
            "condition": "accuracy on stones not below that of the present version",
            "detail": "0.75 for version 2, 0.8 for version 1, on test",
        }
    ]


def test_an_equal_metric_is_not_below(api, ada, net):
    client = api(ada)
    measured(net, 1, 0.8)
    measured(net, 2, 0.8)
    move(client, 1)
    demand(client, METRIC)
    assert move(client, 2).status_code == 200


def test_an_upgrade_counts_by_its_proof(api, ada, net):
    client = api(ada)
    version = net.versions.get(number=1)
    assert version.variants.get().opset < 26
    demand(client, {"kind": "upgrade", "opset": 26})
    assert "(no variant has such an opset)" in move(client, 1).json()["detail"]
    proven.upgrade(version)
    assert version.variants.get(opset=26).proof_strength == "certified"
    assert move(client, 1).status_code == 201


def test_force_needs_a_reason_and_is_recorded(api, ada, net):
    client = api(ada)
    demand(client, CONFORMANCE)
    problem(move(client, 1, force=True), 400, "invalid-request")
    problem(move(client, 1, force=True, message="  "), 400, "invalid-request")
    assert move(client, 1, force=True, message="Demo today").status_code == 201
    [row] = api().get(f"{NET}/alias-history").json()["items"]
    assert row["message"] == "Demo today"
    assert row["unmet"] == ["conformance passed on 2 runtimes (passed on none)"]


def test_force_is_not_recorded_where_nothing_is_overridden(api, ada, net):
    assert move(api(ada), 1, force=True).status_code == 201
    assert api().get(f"{NET}/alias-history").json()["items"][0]["unmet"] == []


def test_a_rule_outlives_its_alias(api, ada, net):
    client = api(ada)
    move(client, 1)
    demand(client, CONFORMANCE)
    client.delete(ALIAS)
    problem(move(client, 1), 409, "conditions-unmet")


def test_a_condition_of_a_kind_that_the_hub_lost_is_unmet(api, ada, net):
    AliasRule.objects.create(
        model=net, alias="champion", conditions=[{"kind": "gone", "n": 1}], author=ada
    )
    assert "condition gone (this hub cannot check it)" in move(api(ada), 1).json()["detail"]
    assert api().get(f"{NET}/alias-rules").json()["items"][0]["sentences"] == ["condition gone"]


@pytest.mark.parametrize("way", ["api", "page"])
def test_rules_of_hidden_models_are_not_shown(api, client, ada, bob, net, way):
    demand(api(ada), CONFORMANCE)
    net.visibility = "private"
    net.save()
    if way == "api":
        problem(api(bob).get(f"{NET}/alias-rules"), 404, "not-found")
    else:
        assert client.get("/models/ada/net/versions").status_code == 404


def test_the_page_of_versions_shows_rules_and_moves_that_override_them(api, client, ada, net):
    demand(api(ada), CONFORMANCE)
    move(api(ada), 1, force=True, message="Demo today")
    html = client.get("/models/ada/net/versions").content.decode()
    assert "<li>conformance passed on 2 runtimes</li>" in html
    assert "Overrode: conformance passed on 2 runtimes (passed on none)" in html


def test_the_name_of_a_deleted_tag_is_retired(api, ada, net):
    client = api(ada)
    tag = f"{NET}/refs/1.0"
    assert client.put(tag, {"kind": "tag", "version": 1}).status_code == 201
    assert client.delete(tag).status_code == 204
    for body in ({"kind": "tag", "version": 2}, {"kind": "alias", "version": 1}):
        document = problem(client.put(tag, body), 409, "name-taken")
        assert "1.0 was a tag of version 1 of ada/net" in document["detail"]
    problem(client.post(f"{NET}/versions", {"label": "1.0"}), 409, "name-taken")
    assert client.put(tag, {"kind": "tag", "version": 1}).status_code == 201


def test_the_database_keeps_the_names_of_deleted_tags(ada, net):
    refs.put(ada, model=net, name="1.0", kind="tag", number=1)
    refs.delete(ada, model=net, name="1.0")
    second = net.versions.get(number=2)
    for kind in ("tag", "alias", "branch"):
        with pytest.raises(IntegrityError), transaction.atomic():
            Ref.objects.create(model=net, name="1.0", kind=kind, version=second)
    with pytest.raises(IntegrityError), transaction.atomic():
        net.retired_tags.update(commit_id=second.commit_id)
    with pytest.raises(IntegrityError), transaction.atomic():
        net.retired_tags.all().delete()
    Ref.objects.create(model=net, name="1.0", kind="tag", version=net.versions.get(number=1))
