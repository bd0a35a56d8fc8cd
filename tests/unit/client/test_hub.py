from __future__ import annotations

import builtins
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import hub
from hub.client import api
from hub.client.hub import Hub
from hub.protocol import problems
from tests.unit.client.conftest import make_model


@pytest.fixture
def offline(client, fake, tmp_path):
    """A client of the same cache that may not use the network."""
    return Hub(fake.url, cache=tmp_path / "cache", offline=True)


def test_load_gives_the_model(fake, client):
    fake.add("zoo/ones", make_model())
    model = client.load("ones")
    assert model.graph.name == "ones"


def test_load_brings_external_data_and_nothing_else(fake, client):
    files = make_model(rows=50, location="weights.bin")
    fake.add("zoo/ones", {**files, "test_data_set_0/input_0.pb": b"input"})
    model = client.load("ones")
    (tensor,) = model.graph.initializer
    assert tensor.raw_data == files["weights.bin"]
    assert not tensor.external_data
    assert fake.count("GET", "blobs") == 2


def test_second_load_asks_only_whether_the_answer_still_holds(fake, client):
    fake.add("zoo/ones", make_model())
    client.load("ones")
    fake.requests.clear()
    client.load("ones")
    assert [(method, path) for method, path, _ in fake.requests] == [
        ("GET", "/api/v1/resolve?ref=zoo%2Fones")
    ]
    assert "if-none-match" in fake.requests[0][2]


def test_new_version_is_seen(fake, client):
    fake.add("zoo/ones", make_model(rows=3))
    client.load("ones")
    fake.add("zoo/ones", make_model(rows=4))
    assert client.load("ones").graph.input[0].type.tensor_type.shape.dim[1].dim_value == 4


def test_pinned_version_needs_no_request_once_known(fake, client):
    version = fake.add("zoo/ones", make_model())
    client.load("ones")
    fake.requests.clear()
    client.load("zoo/ones@1")
    client.load(f"ones@{version['manifest_sha256']}")
    assert fake.requests == []


def test_number_of_a_draft_pins_nothing(fake, client):
    fake.add("zoo/ones", make_model(), state="submitted")
    client.load("ones@1")
    fake.requests.clear()
    client.load("ones@1")
    assert fake.count("GET", "resolve") == 1


def test_offline_uses_the_cache_alone(fake, client, offline):
    fake.add("zoo/ones", make_model(), label="stable")
    client.load("ones@stable")
    folder = client.download("ones@stable")
    fake.requests.clear()
    for ref in ("ones@stable", "ones@1"):
        assert offline.load(ref).graph.name == "ones"
    assert offline.download("ones@1") == folder
    with pytest.raises(problems.NotCached, match="hub get ones@2"):
        offline.load("ones@2")
    assert fake.requests == []


@pytest.fixture
def later(fake, tmp_path, waits):
    """A client of the same cache, without connections to the hub."""
    client = Hub(fake.url, cache=tmp_path / "cache", retry_seconds=5)
    client.transport.sleep = waits.append
    return client


@pytest.fixture
def waits():
    """The seconds that ``later`` would have waited between its attempts."""
    return []


def test_what_is_cached_is_used_while_the_hub_does_not_answer(fake, client, later, waits, caplog):
    fake.add("zoo/ones", make_model())
    folder = client.download("ones")
    fake.close()
    caplog.set_level("WARNING", "hub.client")
    assert later.load("ones").graph.name == "ones"
    assert "ones is taken from the cache as zoo/ones@1" in caplog.text
    assert 0 < sum(waits) <= 2.0
    assert later.download("ones") == folder
    with pytest.raises(problems.Unreachable):
        later.load("others")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_its_hub_is_a_hub_that_does_not_answer(fake, client, later, status):
    fake.add("zoo/ones", make_model())
    client.load("ones")
    fake.answers.extend([(status, {}, b"")] * 2_000)
    assert later.load("ones").graph.name == "ones"


def test_what_the_hub_refuses_is_not_taken_from_the_cache(fake, client):
    fake.add("zoo/ones", make_model())
    client.load("ones")
    fake.versions.clear()
    with pytest.raises(problems.NotFound):
        client.load("ones")


def test_offline_without_the_bytes_says_what_to_run(fake, client, offline):
    fake.add("zoo/ones", make_model())
    client.resolve("ones")
    with pytest.raises(problems.NotCached, match=r"model\.onnx.*hub get zoo/ones@1"):
        offline.load("ones")


@pytest.mark.parametrize(
    "call",
    [
        lambda hub: hub.info("ones"),
        lambda hub: hub.list_models("ones"),
        lambda hub: hub.push("zoo/ones", __file__),
    ],
)
def test_offline_refuses_what_must_be_asked(fake, offline, call):
    with pytest.raises(problems.NotCached, match="HUB_OFFLINE=0"):
        call(offline)
    assert fake.requests == []


def test_variant_and_opset_are_asked_for(fake, client):
    variants = [
        {"name": "main", "entry": "model.onnx", "opset": 17, "precision": "float32"},
        {"name": "int8", "entry": "int8.onnx", "opset": 21, "precision": "int8"},
    ]
    small, large = make_model(rows=2)["model.onnx"], make_model(rows=9)["model.onnx"]
    fake.add("zoo/ones", {"model.onnx": large, "int8.onnx": small}, variants=variants)
    for found in (
        client.load("ones:int8"),
        client.load("ones", variant="int8"),
        client.load("ones", opset=21),
        client.load("ones:int8", variant="int8"),
    ):
        assert found.SerializeToString() == small
    assert client.load("ones").SerializeToString() == large
    with pytest.raises(problems.VariantMissing):
        client.load("ones", opset=5)
    with pytest.raises(problems.InvalidReference, match="Give only one"):
        client.load("ones:int8", variant="main")
    with pytest.raises(problems.InvalidName):
        client.load("ones", variant="INT 8")


def test_the_strength_of_a_proof_is_asked_for(fake, client):
    small, large = make_model(rows=2)["model.onnx"], make_model(rows=9)["model.onnx"]
    variants = [
        {"name": "main", "entry": "model.onnx", "opset": 17, "precision": "float32"},
        {"name": "new", "entry": "new.onnx", "opset": 26, "precision": "float32"},
    ]
    fake.add("zoo/ones", {"model.onnx": large, "new.onnx": small}, variants=variants)
    found = client.load("ones", opset=26, strength="sampled")
    assert found.SerializeToString() == small
    asked = [request for request in fake.requests if "resolve" in str(request)]
    assert "strength=sampled" in str(asked)
    client.load("ones", opset=26)
    again = [request for request in fake.requests if "resolve" in str(request)]
    assert len(again) == 2, "an answer for another strength does not count"
    with pytest.raises(problems.InvalidRequest, match="certified or sampled"):
        client.load("ones", opset=26, strength="partial")


def test_yanked_version_warns(fake, client):
    fake.add("zoo/ones", make_model())
    fake.warning = "This version was yanked: wrong weights."
    with pytest.warns(UserWarning, match=r"zoo/ones@1: .*wrong weights"):
        client.load("ones@1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.load("ones@1")  # once for each reference


def test_wrong_bytes_are_never_opened(fake, client, cache):
    version = fake.add("zoo/ones", make_model())
    fake.corrupt.add(version["files"][0]["sha256"][7:])
    with pytest.raises(problems.DigestMismatch):
        client.load("ones")
    assert not cache.blobs.exists()


def test_what_is_no_model_says_so(fake, client):
    fake.add("zoo/ones", {"model.onnx": b"\xff\xff\xff"})
    with pytest.raises(problems.NotOnnx, match=r"hub\.download"):
        client.load("ones")


def test_external_data_outside_the_version_is_not_read(fake, client, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"\0" * 64)
    for location in ("../secret", "missing.bin"):
        model = make_model(rows=8, location=location)
        fake.add("zoo/evil", {"model.onnx": model["model.onnx"]})
        with pytest.raises(problems.ModelMissing, match="not a file of that version"):
            client.load("evil")


def test_external_data_in_a_folder_above_the_entry(fake, client):
    files = make_model(rows=8, location="../weights.bin")
    fake.add(
        "zoo/ones", {"onnx/model.onnx": files["model.onnx"], "weights.bin": files["../weights.bin"]}
    )
    assert client.load("ones").graph.initializer[0].raw_data == files["../weights.bin"]


@pytest.mark.parametrize(("key", "value"), [("offset", "-1"), ("length", "9999"), ("offset", "x")])
def test_external_data_out_of_bounds(fake, client, key, value):
    import onnx

    files = make_model(rows=8, location="weights.bin")
    model = onnx.ModelProto.FromString(files["model.onnx"])
    for item in model.graph.initializer[0].external_data:
        if item.key == key:
            item.value = value
            break
    else:
        model.graph.initializer[0].external_data.add(key=key, value=value)
    fake.add("zoo/ones", {**files, "model.onnx": model.SerializeToString()})
    with pytest.raises(problems.NotOnnx, match="points outside"):
        client.load("ones")


def test_several_models_and_no_entry(fake, client):
    fake.add("zoo/two", {"a.onnx": b"a", "b.onnx": b"b"}, variants=[{"name": "main", "opset": 1}])
    with pytest.raises(problems.ModelMissing, match=r"a\.onnx, b\.onnx"):
        client.load("two")


def test_session_runs(fake, client):
    fake.add("zoo/ones", make_model(rows=8, location="weights.bin"))
    session = client.session("ones", providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, 8), np.float32)})
    assert result.tolist() == [[8.0, 8.0]]


def test_session_without_the_runtime_says_what_to_install(client, monkeypatch):
    original = builtins.__import__

    def refuse(name, *rest, **more):
        if name == "onnxruntime":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(problems.LibraryMissing, match="pip install onnxruntime"):
        client.session("ones")


def test_info_tells_of_the_model_and_the_version(fake, client):
    fake.add("zoo/ones", make_model(rows=2), label="first")
    fake.add("zoo/ones", make_model(rows=3))
    assert client.info("ones")["version"]["number"] == 2
    assert client.info("ones@1")["version"]["number"] == 1
    assert client.info("ones@first:main")["version"]["number"] == 1
    assert client.info("ones")["ref"] == "zoo/ones"


def test_info_of_what_is_not_there(fake, client):
    fake.models["zoo/empty"] = {"ref": "zoo/empty"}
    fake.versions["zoo/empty"] = []
    assert client.info("empty")["version"] is None
    with pytest.raises(problems.NotFound, match="zoo/nothing"):
        client.info("nothing")


def test_list_models_goes_through_the_pages(fake, client):
    for number in range(230):
        fake.models[f"zoo/m{number:03}"] = {"ref": f"zoo/m{number:03}"}
        fake.versions[f"zoo/m{number:03}"] = []
    found = [model["ref"] for model in client.list_models()]
    assert found == sorted(fake.models)
    assert fake.count("GET", "models") == 3
    fake.requests.clear()
    assert len(list(client.list_models(limit=5))) == 5
    assert len(list(client.list_models(limit=150))) == 150
    assert fake.count("GET", "models") == 3
    assert [model["ref"] for model in client.list_models("m22", license=["mit", "apache-2.0"])] == [
        f"zoo/m22{n}" for n in range(10)
    ]
    assert "license=mit&license=apache-2.0" in fake.requests[-1][1]


def test_default_hub_follows_the_environment(fake, other, default, monkeypatch):
    fake.add("zoo/ones", make_model())
    assert hub.load("ones").graph.name == "ones"
    assert api.default_hub() is api.default_hub()
    assert hub.download("ones").is_dir()
    assert hub.info("ones")["ref"] == "zoo/ones"
    assert [model["ref"] for model in hub.list_models()] == ["zoo/ones"]
    assert hub.session("ones", ["CPUExecutionProvider"]).get_inputs()[0].name == "x"
    monkeypatch.setenv("HUB_URL", other.url)
    with pytest.raises(problems.NotFound):
        hub.load("ones")


def test_login_keeps_a_token_that_works(fake, monkeypatch):
    assert hub.login("hf_new", fake.url)["username"] == "ada"
    assert api.default_hub().config.token == "hf_new"
    assert api.default_hub().config.url == fake.url
    fake.token = "hf_right"
    with pytest.raises(problems.NotAuthenticated):
        hub.login("hf_wrong", fake.url)
    assert api.default_hub().config.token == "hf_new"


def test_login_without_a_token(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(problems.NotAuthenticated, match="hub token create"):
        hub.login()


def test_hub_names_no_more_than_its_verbs():
    import types

    public = {
        name
        for name in dir(hub)
        if not name.startswith("_") and not isinstance(getattr(hub, name), types.ModuleType)
    }
    assert public == set(hub.__all__) - {"__version__", "aio", "errors"}
    assert hub.errors.NotFound is problems.NotFound
    with pytest.raises(AttributeError, match="lead"):
        hub.lead  # noqa: B018


def test_the_client_is_imported_with_the_first_verb():
    code = (
        "import sys, hub.protocol.vocabularies; assert 'hub.client.api' not in sys.modules;"
        "import hub; hub.load; assert 'hub.client.api' in sys.modules;"
        "from hub import push; assert push is hub.push"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_load_outlives_an_outage_at_every_request(fake, tmp_path, pauses, status):
    fake.add("zoo/m", make_model(rows=8, location="w.bin"))
    for at in range(3):
        fake.requests.clear()
        fake.fail_at = (at, [(status, {}, b"")] * 2)
        client = Hub(fake.url, cache=tmp_path / f"cache-{at}")
        client.transport.sleep = pauses.append
        assert client.load("zoo/m", progress=False).graph.name == "ones"
        assert (fake.fail_at, len(fake.requests)) == (None, 5)


def test_load_waits_for_a_version_that_is_still_checked(fake, client, pauses):
    fake.add(
        "zoo/net",
        make_model(),
        state="submitted",
        publish_requested=True,
        checks=[{"kind": "onnx", "required": True, "report": {}, "outcome": "pending"}],
    )
    fake.poll_rounds = 3
    with pytest.raises(problems.ChecksPending, match="still being checked"):
        client.load("zoo/net")
    assert pauses == []
    assert len(client.load("zoo/net", wait=True).graph.node) == 1
    assert len(pauses) >= 3


def test_messages_of_a_server_are_one_line_without_control_characters(fake, client):
    document = {
        "detail": "first\n\x1b[31msecond\x07\u2028third",
        "errors": [{"pointer": "/a\nb", "detail": "c\r\nd"}],
    }
    headers = {"Content-Type": problems.MEDIA_TYPE}
    fake.answers.append((409, headers, json.dumps(document).encode()))
    with pytest.raises(problems.Problem) as caught:
        client.info("zoo/net")
    assert str(caught.value).splitlines() == ["first [31msecond third", "  /a b: c d"]
    assert str(caught.value).replace("\n", "").isprintable()
