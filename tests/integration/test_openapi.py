"""The OpenAPI document as other people's tools read it, against a hub of real processes.

The generators run as they are released now, and what they generate makes real calls. schemathesis
sends what the document allows, and what it does not, for `HUB_TEST_FUZZ_SECONDS` (default 60).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import textwrap

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for
from tests.faults.test_federated import begin, devices
from tests.integration.environments import node_with, python_with
from tests.integration.test_huggingface import HERE

CONFIG = HERE.parents[1] / "examples" / "clients" / "openapi-python-client.yml"
MODEL = samples.mlp()
# What would take the seeded rows away, and with them all that later requests could reach.
EXCLUDED = (
    "models_delete", "models_move", "versions_withdraw", "versions_yank", "tokens_revoke",
    "trainings_cancel", "trainings_finish", "datasets_withdraw",
    # Hashes passwords: while others are hashed, the hub answers 503 with Retry-After.
    "users_password",
)  # fmt: skip
CHECKS = "not_a_server_error,response_schema_conformance,content_type_conformance"


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with one of each: schemathesis.toml has the names that random requests use."""
    started = Hub(
        tmp_path_factory.mktemp("openapi") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
        HUB_LIMITS_USER_RATE="1000000/min",
        HUB_LIMITS_ANON_RATE="1000000/min",
        HUB_LIMITS_CLIENT_RATE="1000000",
    )
    path = started.draft("net", MODEL)
    card = b"---\nlicense: mit\npipeline_tag: image-classification\n---\n# Net\n"
    started.call("PUT", f"{path}/card", card, Content_Type="text/markdown")
    started.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: started.state(path) == "published", "net to be published", 180)
    started.call("PUT", "models/zoo/net/refs/champion", {"kind": "alias", "version": 1})
    started.call("POST", "models/zoo/net/versions", {"message": "A draft"})
    make(started, "POST", "datasets", {"namespace": "zoo", "slug": "zoo", "title": "Digits"})
    table = {"files": {"test.csv": started.store(b"x,label\n1,0\n")}, "splits": []}
    make(started, "POST", "datasets/zoo/versions", table)
    make(started, "POST", "users", {"username": "ada"})
    make(started, "POST", "models/zoo/net/fleets", {"name": "cameras"})
    started.call("PUT", "models/zoo/net/fleets/cameras/desired", {"version": 1, "percent": 50})
    training = begin(started, "net", target=2)
    for device in devices(started, training, 2):
        device.task()
    assert started.call("GET", f"{training}/rounds/1")[0] == 200
    yield started
    started.stop()


def make(hub, method, path, content):
    """Make one of the rows that random requests reach."""
    status, _, body = hub.call(method, path, content)
    assert status == 201, body


@pytest.fixture(scope="module")
def document(hub, tmp_path_factory):
    """The document that the hub serves."""
    place = tmp_path_factory.mktemp("document") / "openapi.json"
    status, _, body = hub.call("GET", "schema")
    assert status == 200, body
    place.write_text(json.dumps(body))
    return place


def run(*command, seconds=300, at=None, **environment):
    done = subprocess.run(
        [str(word) for word in command], env=os.environ | environment, cwd=at, check=False,
        capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_the_document_is_valid(document):
    python = python_with("openapi-spec-validator", "openapi-spec-validator")
    assert "OK" in run(python.with_name("openapi-spec-validator"), document)


def test_a_generated_python_client_makes_calls(hub, document, tmp_path):
    python = python_with("openapi-python-client", "openapi-python-client", "ruff")
    output = run(
        python.with_name("openapi-python-client"), "generate", "--path", document,
        "--output-path", tmp_path / "generated", "--config", CONFIG, "--fail-on-warning",
        PATH=f"{python.parent}:{os.environ['PATH']}",
    )  # fmt: skip
    assert "WARNING" not in output, output
    script = """
        import sys
        from onnx_hub_client import AuthenticatedClient
        from onnx_hub_client.api.models import (
            files_read, models_create, models_list, models_read, versions_read,
        )
        from onnx_hub_client.models import ModelInput, Problem

        address, token = sys.argv[1:]
        client = AuthenticatedClient(base_url=address, token=token)
        page = models_list.sync(client=client, q="net")
        print([row.name for row in page.items])
        model = models_read.sync("zoo", "net", client=client)
        print(model.latest.number, sorted(ref.name for ref in model.refs))
        version = versions_read.sync("zoo", "net", 1, client=client)
        print([(file.path, file.sha256) for file in version.files if file.path == "model.onnx"])
        content = files_read.sync("zoo", "net", 1, "model.onnx", client=client)
        print(len(content.payload.read()))
        made = models_create.sync(client=client, body=ModelInput(namespace="zoo", name="gen"))
        print(made.name)
        again = models_create.sync(client=client, body=ModelInput(namespace="zoo", name="gen"))
        print(type(again) is Problem, again.status, again.title)
    """
    lines = run(
        python, "-c", textwrap.dedent(script), hub.address, hub.token, at=tmp_path / "generated"
    ).splitlines()
    digest = hashlib.sha256(MODEL).hexdigest()
    assert lines == [
        "['net']",
        "1 ['champion', 'main']",
        f"[('model.onnx', 'sha256:{digest}')]",
        str(len(MODEL)),
        "gen",
        "True 409 The name is already taken",
    ]


def test_generated_pydantic_models_read_answers(hub, document, tmp_path):
    python = python_with("datamodel-code-generator", "datamodel-code-generator", "pydantic[email]")
    run(
        python.with_name("datamodel-codegen"), "--input", document, "--input-file-type", "openapi",
        "--output", tmp_path / "hub_models.py", "--output-model-type", "pydantic_v2.BaseModel",
        "--formatters", "builtin",
    )  # fmt: skip
    answer = tmp_path / "model.json"
    answer.write_text(json.dumps(hub.call("GET", "models/zoo/net")[2]))
    script = (
        "import sys; from hub_models import ModelOutput; "
        "model = ModelOutput.model_validate_json(open(sys.argv[1]).read()); "
        "print(model.name, model.latest.number)"
    )
    assert run(python, "-c", script, answer, at=tmp_path).split() == ["net", "1"]


def test_generated_typescript_types_fit_a_call(hub, document):
    place = node_with("openapi-typescript", "openapi-typescript", "typescript@5", "openapi-fetch")
    tools = place / "node_modules" / ".bin"
    run(tools / "openapi-typescript", document, "-o", place / "hub.d.ts")
    (place / "call.mts").write_text(
        textwrap.dedent("""
        import createClient from "openapi-fetch";
        import type { paths } from "./hub.d.ts";

        declare const process: { argv: string[] };
        const [address, token] = process.argv.slice(2);
        const client = createClient<paths>({
          baseUrl: address,
          headers: { Authorization: `Bearer ${token}` },
        });
        const { data } = await client.GET("/api/v1/models/{namespace}/{name}", {
          params: { path: { namespace: "zoo", name: "net" } },
        });
        const { error } = await client.GET("/api/v1/models/{namespace}/{name}", {
          params: { path: { namespace: "zoo", name: "missing" } },
        });
        console.log(data?.name, data?.latest?.number, error?.status);
    """)
    )
    options = {
        "strict": True, "module": "nodenext", "target": "es2022", "lib": ["es2022", "dom"],
        "types": [], "skipLibCheck": True, "allowImportingTsExtensions": True,
        "rewriteRelativeImportExtensions": True,
    }  # fmt: skip
    project = {"compilerOptions": options, "files": ["call.mts"]}
    (place / "tsconfig.json").write_text(json.dumps(project))
    run(tools / "tsc", "--project", place)
    node = shutil.which("node")
    assert run(node, "call.mjs", hub.address, hub.token, at=place).split() == ["net", "1", "404"]


# The clients that openapi-generator writes; that in Go also makes calls.
LANGUAGES = ("go", "java", "csharp", "rust")
GO_CALLS = """
package main

import (
	"context"
	"fmt"
	"os"

	hub "example.org/hub/client"
)

func main() {
	settings := hub.NewConfiguration()
	settings.Servers = hub.ServerConfigurations{{URL: os.Args[1]}}
	settings.AddDefaultHeader("Authorization", "Bearer "+os.Args[2])
	calls := hub.NewAPIClient(settings).ModelsAPI
	model, _, err := calls.ModelsRead(context.Background(), "net", "zoo").Execute()
	if err != nil {
		panic(err)
	}
	_, answer, err := calls.ModelsRead(context.Background(), "missing", "zoo").Execute()
	fmt.Println(model.Name, model.GetLatest().Number, answer.StatusCode, err != nil)
}
"""


@pytest.fixture(scope="module")
def generator():
    """openapi-generator, which runs on Java."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed here")
    python = python_with("openapi-generator", "openapi-generator-cli")
    return python.with_name("openapi-generator-cli")


def test_openapi_generator_finds_no_error(generator, document):
    output = run(generator, "validate", "--recommend", "-i", document)
    assert "Errors:" not in output, output
    assert "unused model" not in output, output


@pytest.mark.parametrize("language", LANGUAGES)
def test_openapi_generator_writes_a_client(generator, document, tmp_path, language):
    output = run(generator, "generate", "-i", document, "-g", language, "-o", tmp_path)
    assert "ERROR" not in output, output
    names = {path.stem.lower().replace("_", "") for path in tmp_path.rglob("*.*")}
    assert names & {"modelsapi", "apimodels"}, sorted(names)


def test_a_generated_go_client_makes_calls(hub, generator, document, tmp_path):
    if shutil.which("go") is None:
        pytest.skip("go is not installed here")
    run(
        generator, "generate", "-i", document, "-g", "go", "-o", tmp_path / "client",
        "--additional-properties", "packageName=hub,enumClassPrefix=true,withGoMod=false",
        "--global-property", "apis,models,supportingFiles,apiTests=false,modelTests=false",
    )  # fmt: skip
    # A stand-in for the one module that the client needs: patterns of fields are not checked here.
    (tmp_path / "validator").mkdir()
    (tmp_path / "validator" / "go.mod").write_text("module gopkg.in/validator.v2\n")
    source = "package validator\n\nfunc Validate(interface{}) error { return nil }\n"
    (tmp_path / "validator" / "validator.go").write_text(source)
    (tmp_path / "go.mod").write_text(
        "module example.org/hub\n\ngo 1.18\n\nrequire gopkg.in/validator.v2 v2.0.1\n\n"
        "replace gopkg.in/validator.v2 => ./validator\n"
    )
    (tmp_path / "main.go").write_text(GO_CALLS)
    words = run(
        "go", "run", ".", hub.address, hub.token,
        at=tmp_path, GOCACHE=str(tmp_path / "cache"), GOFLAGS="-mod=mod", GOPROXY="off",
    )  # fmt: skip
    assert words.split() == ["net", "1", "404", "true"]


def test_random_requests_meet_no_fault_and_no_undescribed_answer(hub, document, tmp_path):
    operations = {
        operation.get("operationId")
        for path in json.loads(document.read_text())["paths"].values()
        for operation in path.values()
    }
    assert operations.issuperset(EXCLUDED)
    python = python_with("schemathesis", "schemathesis")
    seconds = int(os.environ.get("HUB_TEST_FUZZ_SECONDS", "60"))
    excluded = [word for name in EXCLUDED for word in ("--exclude-operation-id", name)]
    run(
        python.with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run",
        f"{hub.address}/api/v1/schema", "--header", f"Authorization: Bearer {hub.token}",
        "--checks", CHECKS, "--max-time", seconds, "--workers", "1", "--continue-on-failure",
        "--warnings", "off", "--request-timeout", "60", *excluded,
        seconds=seconds * 3 + 300, at=tmp_path, PYTHONWARNINGS="ignore",
        PYTHONPATH=str(HERE), SCHEMATHESIS_HOOKS="schemathesis_media_types",
    )  # fmt: skip
    # Still there, and the token is still good: the requests were not refused for want of either.
    for path in ("models/zoo/net", "whoami", "datasets/zoo", "models/zoo/net/trainings/1"):
        assert hub.call("GET", path)[0] == 200, path
