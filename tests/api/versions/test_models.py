"""Models over HTTP: making, reading, changing and deleting them, and who may not."""

from __future__ import annotations

import pytest

from registry.core import usage
from registry.models import Event, RegisteredModel, RetiredName
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


def problem(response, status, slug):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == f"http://testserver/problems/{slug}"
    assert document["status"] == status
    assert document["instance"] == response["X-Request-Id"]
    return document


def test_a_model_is_made_and_read_back(api, ada):
    client = api(ada)
    made = client.post("models", {"namespace": "ada", "name": "net", "summary": "Small."})
    assert made.status_code == 201
    assert made["Location"] == "http://testserver/api/v1/models/ada/net"
    read = client.get("models/ada/net").json()
    assert read["ref"] == "ada/net"
    assert read["summary"] == "Small."
    assert read["latest"] is None
    assert read["role"] == "owner"
    assert Event.objects.filter(verb="model.created", actor=ada).count() == 1


def test_names_are_taken_whatever_their_case(api, ada):
    client = api(ada)
    client.post("models", {"namespace": "ada", "name": "net"})
    problem(client.post("models", {"namespace": "ada", "name": "NET"}), 409, "name-taken")
    assert RegisteredModel.objects.count() == 1


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x.git", "a--b", "x" * 97, "ä"])
def test_bad_names_are_refused(api, ada, name):
    response = api(ada).post("models", {"namespace": "ada", "name": name})
    assert response.status_code in (400, 422), response.content
    assert not RegisteredModel.objects.exists()


def test_unknown_fields_are_refused_by_name(api, ada):
    document = problem(
        api(ada).post("models", {"namespace": "ada", "name": "net", "sumary": "x"}),
        400,
        "invalid-request",
    )
    assert document["errors"] == [{"pointer": "/sumary", "detail": "unknown field"}]
    assert not RegisteredModel.objects.exists()


def test_a_body_beyond_the_limit_is_refused_with_the_limit(api, ada, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    made = api(ada).post("models", {"namespace": "ada", "name": "net", "summary": "x" * 1_000})
    assert "1,000 bytes" in problem(made, 413, "too-large")["detail"]
    assert not RegisteredModel.objects.exists()


def test_guests_and_strangers_cannot_make_models(api, ada, bob):
    body = {"namespace": "ada", "name": "net"}
    assert problem(api().post("models", body), 401, "not-authenticated")
    assert problem(api(bob).post("models", body), 403, "not-allowed")
    assert problem(api(ada, scopes=["read"]).post("models", body), 403, "not-allowed")
    assert not RegisteredModel.objects.exists()


def test_a_token_bound_to_a_namespace_stays_there(api, ada):
    factories.namespace(ada, "lab")
    client = api(ada, ["admin"], "lab")
    assert client.post("models", {"namespace": "lab", "name": "net"}).status_code == 201
    problem(client.post("models", {"namespace": "ada", "name": "net"}), 403, "not-allowed")


def test_private_models_do_not_exist_for_others(api, ada, bob):
    private = factories.model(ada, "secret", visibility="private")
    version = factories.version(ada, private)
    missing = api(bob).get("models/ada/nothing")
    for client in (api(), api(bob)):
        for path in (
            "models/ada/secret",
            "models/ada/secret/versions",
            "models/ada/secret/versions/1",
        ):
            problem(client.get(path), 404, "not-found")
        problem(client.get("resolve?ref=ada/secret"), 404, "not-found")
        assert client.get("models?q=secret").json()["items"] == []
        assert client.get("models").json()["count"] == 0
        file = version.files.get(path="model.onnx")
        problem(client.get(f"blobs/{file.blob_id}"), 404, "not-found")
        problem(client.get("models/ada/secret/versions/1/files/model.onnx"), 404, "not-found")
    hidden = api(bob).get("models/ada/secret")
    assert hidden.json()["detail"].replace("secret", "nothing") == missing.json()["detail"]
    assert api(ada).get("models/ada/secret").status_code == 200


def test_a_public_model_shows_once_something_is_published(api, ada):
    model = factories.model(ada)
    problem(api().get("models/ada/net"), 404, "not-found")
    factories.version(ada, model)
    assert api().get("models/ada/net").json()["latest"]["number"] == 1
    page = api().get("models").json()
    assert [item["ref"] for item in page["items"]] == ["ada/net"]


def test_changes_need_the_tag_that_was_read(api, ada):
    factories.model(ada)
    client = api(ada)
    tag = client.get("models/ada/net")["ETag"]
    problem(client.patch("models/ada/net", {"summary": "x"}), 428, "precondition-required")
    done = client.patch("models/ada/net", {"summary": "First"}, If_Match=tag)
    assert done.status_code == 200
    assert done.json()["summary"] == "First"
    problem(
        client.patch("models/ada/net", {"summary": "Second"}, If_Match=tag),
        412,
        "precondition-failed",
    )
    assert RegisteredModel.objects.get().summary == "First"


def test_a_download_in_between_does_not_refuse_a_change(api, ada):
    factories.version(ada)
    client = api(ada)
    tag = client.get("models/ada/net")["ETag"]
    file = client.get("models/ada/net/versions/1/files/model.onnx")
    assert b"".join(file.streaming_content)
    usage.notes.flush()
    assert client.get("models/ada/net").json()["downloads"] == 1
    done = client.patch("models/ada/net", {"summary": "Mine"}, If_Match=tag)
    assert (done.status_code, done.json()["summary"]) == (200, "Mine")


def test_a_number_that_no_row_can_have_is_not_found(api, ada):
    factories.version(ada)
    for number in ("0", "999999999", "9" * 40):
        problem(api().get(f"models/ada/net/versions/{number}"), 404, "not-found")
        problem(api().get(f"models/ada/net/versions/{number}/files/model.onnx"), 404, "not-found")
    problem(api().get(f"models/ada/net/versions?cursor={'9' * 40}"), 400, "invalid-request")


def test_reading_again_costs_nothing(api, ada):
    factories.model(ada)
    client = api(ada)
    tag = client.get("models/ada/net")["ETag"]
    again = client.get("models/ada/net", If_None_Match=tag)
    assert again.status_code == 304
    assert again.content == b""


def test_a_deleted_name_is_retired_only_if_it_was_published(api, ada):
    client = api(ada)
    factories.model(ada, "never")
    factories.version(ada, factories.model(ada, "once"))
    for name in ("never", "once"):
        assert client.delete(f"models/ada/{name}").status_code == 204
        is_public = name == "once"
        status, slug = (410, "deleted") if is_public else (404, "not-found")
        problem(client.get(f"models/ada/{name}"), status, slug)
    assert list(RetiredName.objects.values_list("name", flat=True)) == ["ada/once"]
    assert client.post("models", {"namespace": "ada", "name": "never"}).status_code == 201
    problem(client.post("models", {"namespace": "ada", "name": "Once"}), 409, "name-retired")


def test_pages_go_on_from_a_key_and_miss_nothing(api, ada):
    for index in range(7):
        factories.version(ada, factories.model(ada, f"net{index}"))
    client = api()
    for sort in ("updated", "name", "downloads", "size"):
        seen, path = [], f"models?limit=3&sort={sort}"
        while path:
            page = client.get(path)
            seen += [item["ref"] for item in page.json()["items"]]
            following = page.json()["next"]
            assert (f'<{following}>; rel="next"' == page.get("Link")) or following is None
            path = following and following.removeprefix("http://testserver")
        assert sorted(seen) == [f"ada/net{index}" for index in range(7)], sort


@pytest.mark.parametrize("cursor", ["x", "W10", "bnVsbA", "WzEsMl0", "IiI"])
def test_a_broken_cursor_is_an_error_not_an_empty_page(api, ada, cursor):
    problem(api().get(f"models?cursor={cursor}"), 400, "invalid-request")


def test_search_ranks_the_exact_name_first(api, ada):
    for name in ("resnet50-int8", "resnet50", "my-resnet50", "other"):
        summary = "compared with resnet50" if name == "other" else ""
        factories.version(ada, factories.model(ada, name, summary=summary), card="")
    found = api().get("models?q=resnet50").json()
    refs = [item["ref"] for item in found["items"]]
    assert refs[0] == "ada/resnet50"
    assert refs[1] == "ada/resnet50-int8"
    assert refs[3] == "ada/other"
    assert found["count"] == 4
    assert found["count_capped"] is False


@pytest.mark.parametrize(
    "text", ['"', "*", "a AND b", "(", "%' OR 1=1 --", "NEAR(", "ä\u0000ö", "'"]
)
def test_search_takes_any_text(api, ada, text):
    from urllib.parse import quote

    assert api().get(f"models?q={quote(text)}").status_code in (200, 400)


def test_groups_narrow_and_values_are_alternatives(api, ada):
    for name, license_, task in (
        ("a", "mit", "image-classification"),
        ("b", "apache-2.0", "image-classification"),
        ("c", "mit", "text-generation"),
    ):
        card = f"---\nlicense: {license_}\npipeline_tag: {task}\ntags: [k-{name}]\n---\nText."
        factories.version(ada, factories.model(ada, name), card=card)

    def names(query):
        return sorted(item["name"] for item in api().get(f"models?{query}").json()["items"])

    assert names("license=mit") == ["a", "c"]
    assert names("license=mit&license=apache-2.0") == ["a", "b", "c"]
    assert names("license=mit&task=image-classification") == ["a"]
    assert names("keyword=k-b") == ["b"]
    assert names("opset_max=16") == []
    assert names("opset_max=17&precision=fp32") == ["a", "b", "c"]


def test_a_list_costs_the_same_queries_for_two_models_as_for_ten(
    api, ada, django_assert_num_queries
):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def cost():
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert api().get("models").status_code == 200
        return len(captured)

    for index in range(2):
        factories.version(ada, factories.model(ada, f"a{index}"))
    few = cost()
    for index in range(8):
        factories.version(ada, factories.model(ada, f"b{index}"))
    assert cost() == few <= 4


def test_a_list_counts_the_groups_it_is_asked_for(api, ada):
    for name, license_ in (("one", "mit"), ("two", "mit"), ("three", "")):
        card = f"---\nlicense: {license_}\n---\nText." if license_ else "---\ntags: [x]\n---\nText."
        factories.version(ada, factories.model(ada, name), card=card)
    told = api().get("models?facets=license&facets=evidence").json()
    assert told["facets"] == {
        "license": [{"value": "mit", "count": 2}, {"value": None, "count": 1}],
        "evidence": [],
    }
    assert told["facets_capped"] is False
    assert "facets" not in api().get("models").json()
    assert api().get("models?facets=colour").status_code == 400


@pytest.mark.parametrize(
    "query", ["domain=cooking", "pixel_format=Bgr9", "personal_data=maybe", "evidence=charm"]
)
def test_a_value_that_no_model_can_have_is_refused(api, db, query):
    assert api().get(f"models?{query}").status_code == 400
