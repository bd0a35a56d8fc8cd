"""The functions of `onnx.hub`, against answers that a hub gives."""

from __future__ import annotations

import hashlib
import inspect
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import hub
from hub import onnx_compat
from hub.client import github
from hub.client.config import Config
from hub.protocol import problems
from tests.unit.client.imports.test_untar import pack


def chain(opset=17, names=("x", "y"), domains=()):
    """A model of one Identity between two names."""
    one, two = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names)
    graph = helper.make_graph(
        [helper.make_node("Identity", [names[0]], [names[1]])], "g", [one], [two]
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*pair) for pair in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def entry(model="net", opset=17, content=b"", **metadata):
    return {
        "model": model,
        "model_path": f"zoo/{model}@1/opset{opset}.onnx",
        "onnx_version": "1.12.0",
        "opset_version": opset,
        "metadata": {"model_sha": hashlib.sha256(content).hexdigest(), "tags": ["Vision"]}
        | metadata,
    }


@pytest.fixture
def here(fake, tmp_path, monkeypatch):
    """A hub that is asked, and an empty folder for what it gives."""
    monkeypatch.setenv("HUB_URL", fake.url)
    before = onnx_compat.get_dir()
    onnx_compat.set_dir(str(tmp_path / "onnx"))
    yield fake
    onnx_compat.set_dir(before)


def answer(fake, *bodies, tag='"t"'):
    for body in bodies:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        fake.answers.append((200, {"ETag": tag}, raw))


def test_the_names_and_arguments_are_those_of_onnx_hub():
    """What `inspect` shows of onnx 1.20.1; the live test compares with the real one."""
    repo, opset = {"repo": "onnx/models:main"}, {"opset": None}
    flags = {"force_reload": False, "silent": False}
    needed = inspect.Parameter.empty
    expected = {
        "list_models": repo | {"model": None, "tags": None},
        "get_model_info": {"model": needed} | repo | opset,
        "load": {"model": needed} | repo | opset | flags,
        "download_model_with_test_data": {"model": needed} | repo | opset | flags,
        "load_composite_model": {
            "network_model": needed,
            "preprocessing_model": needed,
            "network_repo": "onnx/models:main",
            "preprocessing_repo": "onnx/models:main",
        }
        | opset
        | flags,
        "set_dir": {"new_dir": needed},
        "get_dir": {},
        "ModelInfo": {"raw_model_info": needed},
    }
    for name, arguments in expected.items():
        found = inspect.signature(getattr(onnx_compat, name)).parameters
        assert list(arguments.items()) == [(key, one.default) for key, one in found.items()]


def test_listing_by_name_and_tags(here):
    entries = [entry(), entry("VGG-16"), entry("lab/net", tags=[])]
    answer(here, *[entries] * 6)
    assert [one.model for one in onnx_compat.list_models()] == ["net", "VGG-16", "lab/net"]
    assert [one.model for one in onnx_compat.list_models(model="NET")] == ["net"]
    assert [one.model for one in onnx_compat.list_models(model="vgg 16")] == ["VGG-16"]
    assert len(onnx_compat.list_models(tags=["vision", "other"])) == 2
    [one] = onnx_compat.list_models(model="net", tags=["VISION"])
    assert (one.opset, one.tags, one.model_sha) == (17, {"Vision"}, hashlib.sha256().hexdigest())
    assert (
        str(one)
        == repr(one)
        == (f"ModelInfo(model=net, opset=17, path=zoo/net@1/opset17.onnx, metadata={one.metadata})")
    )
    assert onnx_compat.list_models("zoo/models:champion", "none") == []
    assert here.requests[-1][1] == "/onnx-hub/zoo/models/champion/ONNX_HUB_MANIFEST.json"


def test_the_largest_opset_or_the_one_asked_for(here):
    answer(here, *[[entry(opset=7), entry(opset=12)]] * 4)
    assert onnx_compat.get_model_info("net").opset == 12
    assert onnx_compat.get_model_info("net", opset=7).opset == 7
    with pytest.raises(AssertionError, match=r"no version with opset 9. Valid opsets: \[7, 12\]"):
        onnx_compat.get_model_info("net", opset=9)
    with pytest.raises(AssertionError, match="No models found with name none"):
        onnx_compat.get_model_info("none")


def test_an_unchanged_manifest_is_not_sent_again_and_serves_offline(here, monkeypatch):
    answer(here, [entry()])
    onnx_compat.list_models()
    here.answers.append((304, {"ETag": '"t"'}, b""))
    assert len(onnx_compat.list_models()) == 1
    assert here.requests[-1][2]["if-none-match"] == '"t"'
    monkeypatch.setenv("HUB_OFFLINE", "1")
    assert len(onnx_compat.list_models()) == 1
    with pytest.raises(problems.NotCached):
        onnx_compat.list_models("zoo/models")


def test_the_answer_for_one_token_is_not_given_to_another(here, monkeypatch):
    monkeypatch.setenv("HUB_TOKEN", "hf_one")
    answer(here, [entry("secret")])
    assert len(onnx_compat.list_models()) == 1
    monkeypatch.setenv("HUB_TOKEN", "hf_two")
    answer(here, [])
    assert onnx_compat.list_models() == []
    assert "if-none-match" not in here.requests[-1][2]
    assert here.requests[-1][2]["authorization"] == "Bearer hf_two"


def test_a_missing_repository_is_an_assertion_error_as_in_onnx(here):
    with pytest.raises(AssertionError, match="Could not find manifest at"):
        onnx_compat.list_models("no/models")
    with pytest.raises(problems.InvalidReference, match="owner/repo"):
        onnx_compat.list_models("models")


def test_loading_fills_the_cache_and_uses_it(here, tmp_path, capsys):
    content = chain()
    sha256 = hashlib.sha256(content).hexdigest()
    answer(here, [entry(content=content)], content)
    assert onnx_compat.load("net").SerializeToString() == content
    path = tmp_path / "onnx" / "zoo" / "net@1" / f"{sha256}_opset17.onnx"
    assert path.read_bytes() == content
    assert "Downloading net to local path" in capsys.readouterr().out
    answer(here, [entry(content=content)])
    assert onnx_compat.load("net") is not None
    assert f"Using cached net model from {path}" in capsys.readouterr().out
    answer(here, [entry(content=content)], content)
    onnx_compat.load("net", force_reload=True)
    assert (
        here.count("GET", "/onnx-hub/media/onnx/models/main/zoo/net%401/opset17.onnx")
        + here.count("GET", "/onnx-hub/media/onnx/models/main/zoo/net@1/opset17.onnx")
        == 2
    )
    path.write_bytes(b"damaged")
    answer(here, [entry(content=content)])
    with pytest.raises(AssertionError, match="Use force_reload"):
        onnx_compat.load("net")


def test_other_repositories_are_asked_about(here, monkeypatch, capsys):
    content = chain()
    answer(here, [entry(content=content)])
    monkeypatch.setattr("builtins.input", lambda: "n")
    assert onnx_compat.load("net", "zoo/models") is None
    assert "not trusted" in capsys.readouterr().err
    answer(here, [entry(content=content)], content)
    monkeypatch.setattr("builtins.input", lambda: "Y")
    assert onnx_compat.load("net", "zoo/models") is not None
    monkeypatch.setattr("builtins.input", lambda: pytest.fail("asked"))
    answer(here, [entry(content=content)], content)
    assert onnx_compat.load("net", "zoo/models", None, True, True) is not None


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a\\..\\x"])
def test_a_manifest_cannot_write_elsewhere(here, path):
    answer(here, [entry() | {"model_path": path}])
    with pytest.raises(problems.PathInvalid):
        onnx_compat.load("net")


def test_a_model_with_test_data(here, tmp_path):
    packed = pack(
        tmp_path / "p", ("net/model.onnx", b"1"), ("net/test_data_set_0/input_0.pb", b"2")
    )
    raw = packed.read_bytes()
    told = {"model_with_data_path": "zoo/net@1/net.tar.gz",
            "model_with_data_sha": hashlib.sha256(raw).hexdigest()}  # fmt: skip
    answer(here, [entry(**told)], raw)
    folder = onnx_compat.download_model_with_test_data("net")
    name = f"{told['model_with_data_sha']}_net"
    assert folder == f"{tmp_path}/onnx/zoo/net@1/{name}/net"
    assert Path(folder, "test_data_set_0", "input_0.pb").read_bytes() == b"2"
    answer(here, [entry(**told | {"model_with_data_sha": None})], raw)
    assert onnx_compat.download_model_with_test_data("net").endswith("/zoo/net@1/net/net")
    answer(here, [entry(**told | {"model_with_data_sha": "0" * 64})], raw)
    with pytest.raises(AssertionError, match="SHA256"):
        onnx_compat.download_model_with_test_data("net", force_reload=True)
    answer(here, [entry()])
    with pytest.raises(KeyError):
        onnx_compat.download_model_with_test_data("net")


def test_a_composite_model_has_one_opset(here):
    first, second = chain(13, ("a", "b")), chain(17, ("x", "y"))
    answer(here, [entry("pre", 13, first)], first, [entry("net", 17, second)], second)
    made = onnx_compat.load_composite_model("net", "pre")
    onnx.checker.check_model(made)
    assert {one.version for one in made.opset_import} == {17}
    assert [made.graph.input[0].name, made.graph.output[0].name] == ["a", "y"]


def test_a_composite_model_of_two_versions_of_a_domain_is_refused(here):
    first, second = chain(17, ("a", "b"), [("x.y", 1)]), chain(17, ("x", "y"), [("x.y", 2)])
    answer(here, [entry("pre", 17, first)], first, [entry("net", 17, second)], second)
    with pytest.raises(ValueError, match=r"different opset versions for domain x\.y"):
        onnx_compat.load_composite_model("net", "pre")


def test_default_folder_is_that_of_onnx(tmp_path):
    from hub.client.onnx_compat import default_dir

    assert default_dir({"ONNX_HOME": "/a"}) == "/a/hub"
    assert default_dir({"XDG_CACHE_HOME": "/b"}) == "/b/onnx/hub"
    assert default_dir({}).endswith("/.cache/onnx/hub")


def test_only_what_onnx_hub_asks_is_led_to_the_hub():
    handler = github.Rewriting(Config("https://hub.example/base", token="hf_secret"))
    raw, media = "https://raw.githubusercontent.com/", "https://media.githubusercontent.com/media/"
    led = handler.rewritten
    assert led(f"{raw}onnx/models/main/ONNX_HUB_MANIFEST.json") == (
        "https://hub.example/base/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json"
    )
    assert led(f"{media}onnx/models/main/zoo/net@1/model.onnx") == (
        "https://hub.example/base/onnx-hub/media/onnx/models/main/zoo/net@1/model.onnx"
    )
    for other in (
        f"{raw}onnx/models/main/README.md",
        f"{media}onnx/models/main/vision/net.onnx",
        "https://example.com/ONNX_HUB_MANIFEST.json",
        "http://raw.githubusercontent.com/onnx/models/main/ONNX_HUB_MANIFEST.json",
    ):
        assert led(other) is None
        request = urllib.request.Request(other)  # noqa: S310 - never opened
        assert handler.https_request(request) is request


def test_installing_changes_this_process_alone_and_sends_the_token_to_the_hub_only(here):
    answer(here, [entry(), entry(opset=9999)])
    program = f"""
import urllib.request
import onnx
from pathlib import Path
from hub import onnx_compat
onnx_compat.install({here.url!r}, token="hf_secret")
address = "https://raw.githubusercontent.com/onnx/models/main/ONNX_HUB_MANIFEST.json"
print(urllib.request.urlopen(address).read().decode())
print(len(urllib.request.urlopen({here.url!r} + "/elsewhere-ok").read()))
"""
    answer(here, b"plain")
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    # What the installed onnx is too old for is left out.
    assert [one["opset_version"] for one in json.loads(done.stdout.splitlines()[0])] == [17]
    led, plain = here.requests[-2:]
    assert led[2]["authorization"] == "Bearer hf_secret"
    assert led[2]["host"] == here.url.removeprefix("http://")
    assert "authorization" not in plain[2]


def test_importing_it_is_light():
    heavy = {"onnx", "urllib3", "numpy"}
    code = f"import sys; from hub import onnx_compat; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
    assert hub.load is not onnx_compat.load


def test_a_file_that_was_cut_is_fetched_again(here):
    content = chain()
    answer(here, [entry(content=content)])
    here.answers.append((200, {"Content-Length": str(len(content))}, content[:20]))
    here.answers.append((200, {}, content))
    here.fail_at = None
    here.hang_ups = 2
    assert onnx_compat.load("net").SerializeToString() == content
