"""The libraries that people have, loading and running models of this hub: each as it comes.

`HUB_TEST_CLIENTS` names a folder in which each library has, or gets, an environment of its own. The
models are made here in code; nothing is fetched but the libraries. What a load asked for and did
not find is counted and printed (`pytest -s`), since a load waits for every "no".
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import numpy as np
import pytest

from registry.versions import git_names
from tests import chromium
from tests.faults.conftest import Hub, wait_for
from tests.integration import tiny_bert
from tests.integration.environments import node_with, python_with
from tests.integration.test_huggingface import HERE, WEIGHTS, environment, python, run
from tests.integration.watching import Watched

__all__ = ["python"]
GRAPH = tiny_bert.onnx_file()
MODELS = {"zoo/tiny": "model.onnx", "zoo/tiny-folder": "onnx/model.onnx"}
# What each environment is made of, in this order. optimum needs a torch and takes any, but would
# choose the largest by itself.
TORCH = os.environ.get("HUB_TEST_TORCH", "torch==2.13.0")
PYTHON_LIBRARIES = {
    "transformers": ("transformers",),
    "optimum": (TORCH, "optimum-onnx[onnxruntime]"),
}
SECONDS_PER_NO = 2.0


def publish(hub, name, files):
    """Publish a version of zoo/``name`` with these files."""
    hub.call("POST", "models", {"namespace": "zoo", "name": name})
    _, _, made = hub.call("POST", f"models/zoo/{name}/versions", {})
    path = f"models/zoo/{name}/versions/{made['number']}"
    for place, content in files.items():
        status, _, body = hub.call("PUT", f"{path}/files/{place}", {"blob": hub.store(content)})
        assert status in (200, 201), body
    card = b"---\nlicense: mit\npipeline_tag: text-classification\n---\n# Tiny\n"
    hub.call("PUT", f"{path}/card", card, Content_Type="text/markdown")
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", f"{name} to be published", 180)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with the tiny model in both layouts; the first has two versions and a variant."""
    made = Hub(
        tmp_path_factory.mktemp("libraries") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    try:
        for name, place in MODELS.items():
            publish(made, name.removeprefix("zoo/"), {place: GRAPH, **tiny_bert.files()})
        held = {"model.onnx": GRAPH, "weights.bin": WEIGHTS, **tiny_bert.files()}
        publish(made, "tiny", held)
        made.call("POST", "models/zoo/tiny/versions/2/variants", {"kind": "int8"})
        wait_for(
            lambda: any(
                each["name"] == "int8"
                for each in made.call("GET", "models/zoo/tiny/versions/2")[2]["variants"]
            ),
            "the int8 variant",
            180,
        )
        yield made
    finally:
        made.stop()


@pytest.fixture
def watched(hub):
    """The hub at an address that notes what is asked."""
    made = Watched(hub.port)
    yield made
    made.close()


def library(name):
    return python_with(name, *PYTHON_LIBRARIES[name])


def node():
    return node_with("transformers-js", "@huggingface/transformers", "@huggingface/hub")


def last_line(printed):
    """What a script says; libraries print before it what they like."""
    return json.loads(printed.strip().splitlines()[-1])


def tell(what, version, watched):
    """Print what a load cost; every "no" must be quick, since loads wait for them one by one."""
    missing = watched.missing()
    spent = ", ".join(f"{each.path} {each.milliseconds:.0f} ms" for each in missing)
    cost = f"{len(watched.asked)} requests, {len(missing)} of them 404: {spent}"
    sys.stdout.write(f"\n{what} ({version}): {cost}\n")
    assert not [each for each in watched.asked if each.status >= 500 or each.status == 400]
    assert all(each.milliseconds < SECONDS_PER_NO * 1000 for each in missing)


@pytest.mark.parametrize(
    ("model", "dtype", "atol"),
    [("zoo/tiny", "-", 1e-5), ("zoo/tiny-folder", "-", 1e-5), ("zoo/tiny", "int8", 0.1)],
    ids=["top", "folder", "variant"],
)
def test_transformers_js_runs_a_model(hub, watched, model, dtype, atol, tmp_path):
    words = ["node", "classify.mjs", watched.address, model, dtype, tmp_path, tiny_bert.TEXT]
    said = last_line(run(words, dict(os.environ), cwd=node()))
    tell(f"transformers.js {model} {dtype}", said["version"], watched)
    expected = tiny_bert.logits(GRAPH)
    assert said["ids"] == tiny_bert.IDS
    assert np.allclose(said["logits"], expected, atol=atol)
    assert np.allclose(said["logits"], expected, atol=1e-5) == (dtype == "-")
    assert said["label"] == tiny_bert.LABELS[int(np.argmax(expected))]
    suffix = "" if dtype == "-" else f"_{dtype}"
    assert any(each.path.endswith(f"/onnx/model{suffix}.onnx") for each in watched.asked)


@pytest.mark.parametrize("model", MODELS)
def test_transformers_loads_configuration_and_tokenizer(hub, watched, model, tmp_path):
    given = environment(hub, tmp_path, token=False) | {"HF_ENDPOINT": watched.address}
    script = HERE / "clients" / "load_tokenizer.py"
    said = last_line(run([library("transformers"), script, model, tiny_bert.TEXT], given))
    tell(f"transformers {model}", said["version"], watched)
    assert said | {"version": ""} == {
        "version": "",
        "kind": "bert",
        "labels": list(tiny_bert.LABELS),
        "ids": tiny_bert.IDS,
    }


@pytest.mark.parametrize("model", MODELS)
def test_optimum_runs_a_model(hub, watched, model, tmp_path):
    given = environment(hub, tmp_path, token=False) | {"HF_ENDPOINT": watched.address}
    script = HERE / "clients" / "classify.py"
    said = last_line(run([library("optimum"), script, model, tiny_bert.TEXT], given))
    tell(f"optimum {model}", said["version"], watched)
    expected = tiny_bert.logits(GRAPH)
    assert np.allclose(said["logits"], expected, atol=1e-5)
    assert said["label"] == tiny_bert.LABELS[int(np.argmax(expected))]


def test_lists_go_on_page_by_page(hub, python, tmp_path):
    given = environment(hub, tmp_path, token=False)
    said = last_line(run([python, HERE / "clients" / "pages.py", "zoo/tiny"], given))
    commits = [row["commit_id"] for row in hub.call("GET", "models/zoo/tiny/versions")[2]["items"]]
    names = ["README.md", "model.onnx", "weights.bin", *tiny_bert.files()]
    assert (sorted(said["models"]), said["commits"]) == (sorted(MODELS), commits)
    assert sorted(said["files"]) == sorted(names)


def test_huggingface_js_takes_pages_and_snapshots(hub, tmp_path):
    words = ["node", "pages.mjs", hub.address, "zoo/tiny", tmp_path]
    said = last_line(run(words, dict(os.environ), cwd=node()))
    commits = [row["commit_id"] for row in hub.call("GET", "models/zoo/tiny/versions")[2]["items"]]
    assert said == {
        "commits": commits,
        "models": 2,
        "folder": commits[0],
        "model": hashlib.sha256(GRAPH).hexdigest(),
        "weights": hashlib.sha256(WEIGHTS).hexdigest(),
        "bare": True,
    }


class Files(SimpleHTTPRequestHandler):
    """The other site: files of a folder."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def site():
    """Another origin, with the page and the libraries that it loads."""
    if chromium.path() is None:
        pytest.skip("Chromium is not installed here")
    place = node()
    shutil.copy(HERE / "clients" / "browser.html", place / "browser.html")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=place))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_scripts_of_another_site_read_the_hub_and_run_a_model(hub, site):
    from playwright.sync_api import sync_playwright

    where = "|".join(quote(part, safe="") for part in (hub.address, tiny_bert.TEXT))
    asked = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{site}/browser.html#{where}")
        page.wait_for_function("window.said !== undefined", timeout=60_000)
        said = page.evaluate("window.said")
        browser.close()
    assert "error" not in said, said
    commit = hub.call("GET", "models/zoo/tiny/versions/2")[2]["commit_id"]
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    numbers = said.pop("logits")
    assert said | {"version": ""} == {
        "version": "",
        "refused": [401, "Invalid credentials in Authorization header"],
        "part": [206, list(WEIGHTS[1000:1004]), f"bytes 1000-1003/{len(WEIGHTS)}", f'"{digest}"'],
        "commit": commit,
        "paths": [200, ["config.json"]],
        "raw": git_names.pointer(digest, len(WEIGHTS)).decode(),
        "missing": [404, "EntryNotFound", commit],
        "listed": [200, True],
    }
    assert np.allclose(numbers, tiny_bert.logits(GRAPH), atol=1e-4)
    assert not [url for url in asked if not url.startswith((site, hub.address, "blob:"))]
