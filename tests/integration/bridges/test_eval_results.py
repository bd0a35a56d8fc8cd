"""Files of results with huggingface_hub itself: uploaded, parsed, imported, and measured here."""

from __future__ import annotations

import json

import pytest

from hub.client.hub import Hub as Client
from hub.client.imports import hf
from tests.faults.conftest import wait_for
from tests.integration import asking
from tests.integration.environments import python_with
from tests.integration.test_answers import HERE

MEASURED = ".eval_results/measured-by-this-hub.yaml"
FILL = """
from tests import factories, measured
measured.fill(factories.user("ada"))
"""
PROGRAM = """
import dataclasses, json, sys
import yaml
from huggingface_hub import (
    EvalResultEntry, HfApi, eval_result_entries_to_yaml, hf_hub_download,
    parse_eval_result_entries,
)

repo, path, upload = sys.argv[1:]
api = HfApi()
if upload:
    entry = EvalResultEntry(
        dataset_id="cais/hle", task_id="default", value=20.9, verify_token="eyJhbGciOi",
        date="2025-01-15T10:30:00Z", source_url="https://example.org/logs",
        source_name="Eval logs", source_user="ada", notes="no-tools",
    )
    content = yaml.dump(eval_result_entries_to_yaml([entry])).encode()
    api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=repo)
listed = api.model_info(repo, expand=["evalResults"]).eval_results or []
content = yaml.safe_load(open(hf_hub_download(repo, path)))
print(json.dumps({
    "listed": [dataclasses.asdict(entry) for entry in listed],
    "file": [dataclasses.asdict(entry) for entry in parse_eval_result_entries(content)],
}))
"""


@pytest.fixture
def ask(run, tmp_path):
    """What huggingface_hub reads of a model, after it uploaded a file of results or not."""
    python = python_with("huggingface-newest", "huggingface_hub")

    def ask(hub, repo, path, *, token="", upload=""):
        printed = run(
            python, "-c", PROGRAM, repo, path, upload,
            HF_ENDPOINT=hub.address, HF_TOKEN=token, HF_HOME=str(tmp_path / "hf"),
        )  # fmt: skip
        return json.loads(printed.splitlines()[-1])

    return ask


def test_uploaded_results_are_claims_and_follow_an_import(hub, publish, ask, tmp_path):
    publish("scored")
    path = ".eval_results/hle.yaml"
    answer = ask(hub, "zoo/scored", path, token=hub.token, upload="yes")
    assert answer["listed"] == answer["file"]
    (entry,) = answer["file"]
    assert (entry["dataset_id"], entry["value"], entry["source_user"]) == ("cais/hle", 20.9, "ada")
    wait_for(lambda: hub.state("models/zoo/scored/versions/2") == "published", "version 2", 180)
    client = Client(hub.address, token=hub.token, cache=tmp_path / "cache")
    source = hf.open_source(client, "zoo/scored", hub.address, hub.token)
    imported = hf.Mirror(client, source, progress=False).run(
        namespace="zoo", name="scored-copy", publish=True
    )
    (row,) = client.versions.read("zoo/scored-copy", imported.version["number"]).eval_results
    assert (row["status"], row["file"], row["value"]) == ("declared", path, 20.9)


def test_measured_results_are_read_by_the_parser_of_huggingface_hub(tmp_path_factory, ask):
    hub = asking.hub_at(tmp_path_factory.mktemp("measured"))
    try:
        hub.run_inside(HERE.format(address=hub.address) + FILL)
        answer = ask(hub, "ada/good", MEASURED)
    finally:
        hub.stop()
    assert answer["listed"] == answer["file"]
    values = {entry["task_id"]: entry["value"] for entry in answer["file"]}
    assert values == {"test:accuracy": 0.973333, "test:roc_auc": 0.99, "valid:accuracy": 0.5}
    for entry in answer["file"]:
        assert entry["source_url"] == f"{hub.address}/models/ada/good/v/1#accuracy"
        assert entry["notes"].startswith("measured: ")
        assert entry["verify_token"] is None
