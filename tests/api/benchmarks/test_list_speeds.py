"""The list by speed over HTTP: order, setup, figures, bounds, and what strangers are told."""

from __future__ import annotations

import pytest

from registry.catalogue import documents
from registry.models import RegisteredModel
from tests import factories, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
HERE = {
    "device": "example-cpu-2-cores",
    "runtime": "onnxruntime",
    "provider": "CPUExecutionProvider",
}


TIMED = {"slow": (8.0, 0), "fast": (2.0, 0), "noisy": (1.0, 0.3)}


@shared.rows
def start():
    ada = factories.somebody("ada")
    found = []
    for name, (p50, spread) in TIMED.items():
        version = factories.version(ada, factories.model(ada, name))
        found.append(timed.benchmark(version, p50, spread=spread, deliver=False))
        documents.refresh(version.model_id)
    factories.version(ada, factories.model(ada, "untimed"))
    return found


@pytest.fixture
def made(start, db):
    return dict(zip(TIMED, shared.fresh(start), strict=True))


def test_models_are_ordered_by_their_speed_in_one_setup(api, made):
    body = api().get("models?sort=fastest").json()
    assert body["setup"] == HERE
    assert [item["name"] for item in body["items"]] == ["fast", "slow", "noisy", "untimed"]
    fast, _, noisy, untimed = (item["speed"] for item in body["items"])
    assert (fast["status"], fast["p50_ms"]) == ("accepted", made["fast"].p50_ms)
    assert fast["url"].endswith(f"/models/ada/fast/versions/1/benchmarks/{made['fast'].pk}")
    assert api().get(fast["url"].partition("/api/v1/")[2]).json()["p50_ms"] == fast["p50_ms"]
    assert untimed is None
    assert noisy["status"] == "noisy"
    first = api().get("models?sort=fastest&limit=3").json()
    rest = api().get(first["next"].partition("/api/v1/")[2]).json()
    assert [item["name"] for item in first["items"] + rest["items"]] == [
        item["name"] for item in body["items"]
    ]


def test_speeds_are_told_only_where_they_are_asked_for(api, made):
    plain = api().get("models").json()
    assert "setup" not in plain
    assert "speed" not in plain["items"][0]
    body = api().get("models?device=example-cpu-2-cores&sort=name").json()
    assert body["setup"] == HERE
    assert [item["name"] for item in body["items"]] == ["fast", "noisy", "slow", "untimed"]
    assert body["items"][0]["speed"]["p50_ms"] == made["fast"].p50_ms
    nothing = api().get("models?device=unheard-of&sort=fastest").json()
    assert {item["speed"] for item in nothing["items"]} == {None}


def test_only_accepted_results_of_the_setup_keep_a_limit_of_latency(api, made):
    def names(query):
        return [item["name"] for item in api().get(f"models?{query}").json()["items"]]

    p50 = made["fast"].p50_ms
    assert names(f"max_p50={p50}") == ["fast"]
    assert names(f"max_p50={p50 - 0.01}") == []
    assert names("max_p50=1e9&sort=fastest") == ["fast", "slow"]
    assert names("max_p50=1e9&device=unheard-of") == []
    body = api().get("models?max_p50=1e9&facets=license").json()
    assert (body["setup"], body["count"]) == (HERE, 2)
    assert sum(one["count"] for one in body["facets"]["license"]) == 2
    assert api().get("models?max_p50=fast").status_code == 400
    assert api().get("models?max_p50=-1").status_code == 400


def test_a_limit_decides_the_order_and_each_row_has_the_value_that_keeps_it(api, made):
    def found(query):
        return api().get(f"models?{query}").json()["items"]

    first, second = found("max_p50=1e9")
    assert [first["name"], second["name"]] == ["fast", "slow"]
    assert first["fits"] == [
        {
            "constraint": "max_p50", "limit": 1e9, "value": made["fast"].p50_ms, "unit": "ms",
            "basis": "measured", "low": made["fast"].p50_low_ms, "high": made["fast"].p50_high_ms,
            "interval_level": 95, "interval_method": "Student's t of the processes' log medians",
            "evaluated": None,
        }
    ]  # fmt: skip
    assert first["speed"]["low_ms"] == made["fast"].p50_low_ms <= made["fast"].p50_ms
    newest = [one["name"] for one in found("sort=updated")]
    assert [one["name"] for one in found("max_bytes=1000000&max_parameters=100")] == newest
    (only,) = found("max_p50=1e9&max_parameters=100&limit=1")
    assert [(one["constraint"], one["value"], one["basis"]) for one in only["fits"]] == [
        ("max_p50", made["fast"].p50_ms, "measured"), ("max_parameters", 12, "counted"),
    ]  # fmt: skip
    assert "fits" not in found("sort=name")[0]


def test_the_page_says_why_it_is_in_its_order_and_follows_the_limits(client, made):
    def page(address):
        return client.get(f"/models{address}", follow=True)

    small = page("?max_bytes=1000000")
    assert small.redirect_chain == []  # the order that follows from a limit has no parameter
    words = small.content.decode()
    assert "Smallest first, because of the limit “Maximum size”." in words
    assert '<option value="" selected>Smallest</option>' in words
    assert '<option value="updated">Recently updated</option>' in words
    assert 'href="/models" aria-label="Remove filter Maximum size' in words
    assert "of files</span>" in words
    by_name = page("?max_bytes=1000000&sort=name").content.decode()
    assert "because of the limit" not in by_name
    assert 'href="/models?sort=name" aria-label="Remove filter Maximum size' in by_name
    both = page("?max_bytes=1000000&max_parameters=1000000").content.decode()
    assert "Newest first, since several limits are set." in both
    fast = page("?max_p50=100000000").content.decode()
    assert "first, because a maximum latency is set" in fast
    assert fast.index("/models/ada/fast") < fast.index("/models/ada/slow")


def test_the_page_keeps_a_limit_of_latency(client, made):
    page = client.get(f"/models?max_p50={made['fast'].p50_ms:.3f}", follow=True).content.decode()
    assert 'href="/models/ada/fast"' in page
    assert 'href="/models/ada/slow"' not in page
    assert "Maximum latency" in page
    assert client.get("/models?max_p50=soon").status_code == 400


def test_a_private_models_setup_is_told_to_nobody_else(api, made, ada, bob):
    RegisteredModel.objects.update(visibility="private")
    for pk in RegisteredModel.objects.values_list("pk", flat=True):
        documents.refresh(pk)
    for stranger in (api(), api(bob)):
        body = stranger.get("models?sort=fastest").json()
        assert (body["items"], body["setup"], body["count"]) == ([], None, 0)
        told = stranger.get("models?facets=measured_on&facets=max_bytes").json()["facets"]
        assert told == {"measured_on": [], "max_bytes": []}
    assert api(ada).get("models?sort=fastest").json()["setup"] == HERE


def test_bounds_narrow_and_are_counted(api, made):
    asked = "models?facets=max_bytes&facets=max_parameters"
    body = api().get(f"{asked}&max_parameters=12").json()
    assert body["count"] == 4
    assert body["facets"]["max_bytes"][0] == {"value": "1000000", "count": 4}
    assert api().get(f"{asked}&max_parameters=11").json()["count"] == 0
    assert api().get("models?max_bytes=-1").status_code == 400
    assert api().get(f"models?max_bytes={2**63}").status_code == 400
