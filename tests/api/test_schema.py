"""Answers are what the OpenAPI document says; schemathesis showed that each of these was not."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tests import factories, openapi_server, samples

pytestmark = pytest.mark.django_db
DOCUMENT = openapi_server.document()


def expect_described(answer, operation_id, media="application/json"):
    """That an answer fits what the document says of an operation."""
    operation = next(
        operation
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        if operation["operationId"] == operation_id
    )
    content = operation["responses"][str(answer.status_code)]["content"]
    schema = content[media]["schema"] | {"components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(answer.json())


def test_a_draft_has_no_digest(api, ada):
    factories.model(ada)
    expect_described(api(ada).post("models/ada/net/versions", {}), "versions_create")
    expect_described(api(ada).get("models/ada/net/versions"), "versions_list")


@pytest.mark.capability("federated")
def test_fleets_are_a_page(api, ada):
    factories.published(ada, contents={"model.onnx": samples.mlp()})
    assert api(ada).post("models/ada/net/fleets", {"name": "one"}).status_code == 201
    answer = api(ada).get("models/ada/net/fleets")
    expect_described(answer, "fleets_list")
    assert [row["name"] for row in answer.json()["items"]] == ["one"]


def test_a_job_has_no_report_before_it_ends(api, ada):
    factories.submitted(ada)
    answer = api(ada).get("jobs")
    assert [row["report"] for row in answer.json()["items"]] != []
    expect_described(answer, "jobs_list")


def test_a_croissant_document_is_an_object(api, ada):
    client = api(ada)
    factories.dataset(ada, "stones")
    files = {"a.csv": client.upload(b"a\n1\n")["Hub-Blob"]}
    assert client.post("datasets/stones/versions", {"files": files}).status_code == 201
    answer = client.get("datasets/stones/versions/1/croissant")
    expect_described(answer, "dataset_versions_croissant", "application/ld+json")


def test_no_answer_of_json_is_described_as_text():
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for media, content in response.get("content", {}).items():
                    is_text = content["schema"].get("type") == "string"
                    assert not (media.endswith("json") and is_text), (operation, media)


def test_every_default_is_a_value_that_may_be_sent():
    schemas = [DOCUMENT]
    while schemas:
        schema = schemas.pop()
        if isinstance(schema, list):
            schemas += schema
        elif isinstance(schema, dict):
            schemas += schema.values()
            if "default" in schema and "type" in schema:
                Draft202012Validator(schema).validate(schema["default"])
                assert "format" not in schema or schema["default"] != "", schema


def test_numbers_in_paths_are_numbers():
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["name"].endswith("number"):
                    assert parameter["schema"]["type"] == "integer", path


def test_bytes_are_not_described_as_json():
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            for answer in operation["responses"].values():
                json = answer.get("content", {}).get("application/json", {})
                assert json.get("schema", {}).get("format") != "binary", path
