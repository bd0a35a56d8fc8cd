"""Publishing through the upload page: with scripts, without, paused, cut and reloaded."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import expect

from tests import samples

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(samples.mlp())
    return path


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "weights.data"
    path.write_bytes(os.urandom(20_000_000))
    return path


def test_publish(window, model, tmp_path, hub):
    pointer = tmp_path / "pointer.onnx"
    pointer.write_bytes(LFS)
    one = window(signed=True)
    page = one.page
    one.open("/upload")
    page.fill("[name=name]", "uploaded")
    page.fill("[name=summary]", "Published through the page.")
    page.set_input_files("#files", [model, pointer])
    page.click("text=Create draft")
    rows = page.locator(".sending > li")
    expect(rows.nth(0)).to_contain_text("stored")
    expect(rows.nth(1)).to_contain_text("failed")
    expect(rows.nth(1)).to_contain_text("Git LFS pointer")
    one.shoot("upload-sent-1440")
    assert one.axe() == []
    page.click("text=Continue without the rejected files")
    expect(page.locator("h1")).to_contain_text("uploaded")
    assert page.url.endswith("/models/zoo/uploaded/v/1/draft")
    page.fill("textarea", "---\nlicense: mit\n---\n# Uploaded\n\nBy hand.")
    page.click("text=Save card")
    expect(page.locator(".note.success")).to_contain_text("The card is saved.")
    page.get_by_role("button", name="Submit", exact=True).click()
    hub.wait_for("models/zoo/uploaded/versions/1", "published")
    one.open("/models/zoo/uploaded")
    assert "By hand." in page.locator("main").inner_text()
    assert "All checks pass." in page.locator("main").inner_text()


def test_publish_without_scripts(window, model, hub):
    one = window(signed=True, java_script_enabled=False)
    page = one.page
    one.open("/upload")
    expect(page.locator("text=without resuming")).to_be_visible()
    page.fill("[name=name]", "plain")
    page.set_input_files("#files", [model])
    page.click("text=Create draft")
    page.wait_for_url("**/models/zoo/plain/v/1/draft")
    page.get_by_role("button", name="Submit", exact=True).click()
    hub.wait_for("models/zoo/plain/versions/1", "published")
    page.get_by_role("link", name="Refresh").click() if page.locator(
        "text=Refresh"
    ).count() else page.reload()
    expect(page.locator("h1")).to_have_text(re.compile("plain"))


def test_name_that_is_taken_is_told_and_nothing_is_lost(window, model):
    one = window(signed=True)
    one.watch.expected = (r"status of 409",)
    page = one.page
    one.open("/upload")
    page.fill("[name=name]", "net")
    page.set_input_files("#files", [model])
    page.click("text=Create draft")
    expect(page.locator("[data-error]")).to_contain_text("already exists")
    page.fill("[name=name]", "not-net")
    page.click("text=Create draft")
    expect(page.locator("main")).to_contain_text("Submitting freezes the 1 file")
    assert page.url.endswith("/models/zoo/not-net/v/1/draft")


def test_pause_and_resume(window, large, hub):
    version = hub.draft("paused")
    one = window(signed=True)
    page = one.page
    one.open("/models/zoo/paused/v/1/draft")
    held = []
    page.route(
        "**/uploads/*",
        lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_(),
    )
    page.set_input_files("#files", [large])
    row = page.locator(".sending > li")
    expect(row).to_contain_text(re.compile("sending|reading|waiting"))
    while not held:
        page.wait_for_timeout(50)
    row.get_by_role("button", name="Pause weights.data").click()
    expect(row).to_contain_text("paused")
    expect(row.get_by_role("button", name="Resume weights.data")).to_be_visible()
    one.shoot("upload-paused-1440")
    page.unroute("**/uploads/*")
    row.get_by_role("button").click()
    expect(page.locator("main table").first).to_contain_text("weights.data")
    files = hub.api("GET", version)["files"]
    assert {file["path"]: file["size"] for file in files}["weights.data"] == 20_000_000


def test_goes_on_after_a_cut_and_a_reload(window, large, hub):
    version = hub.draft("cut")
    one = window(signed=True)
    one.watch.expected = (r"ERR_FAILED", r"ERR_ABORTED")
    page = one.page
    one.open("/models/zoo/cut/v/1/draft")
    sent = []

    def first_step_only(route):
        if route.request.method != "PATCH":
            route.continue_()
        elif sent:
            route.abort()
        else:
            sent.append(route.request.headers["upload-offset"])
            route.continue_()

    page.route("**/uploads/*", first_step_only)
    page.set_input_files("#files", [large])
    expect(page.locator(".sending > li")).to_contain_text("waiting for the connection")
    page.unroute("**/uploads/*")
    page.reload()
    expect(page.locator("[data-left]")).to_contain_text("weights.data")
    offsets = []
    page.on(
        "request",
        lambda request: (
            offsets.append(request.headers.get("upload-offset"))
            if request.method == "PATCH"
            else None
        ),
    )
    page.set_input_files("#files", [large])
    expect(page.locator("main table").first).to_contain_text("weights.data")
    assert (sent, offsets) == (["0"], ["8000000", "16000000"])
    files = {file["path"]: file for file in hub.api("GET", version)["files"]}
    import hashlib

    digest = hashlib.sha256(large.read_bytes()).hexdigest()
    assert files["weights.data"]["sha256"] == f"sha256:{digest}"


def test_folder_keeps_its_paths(window, tmp_path, hub):
    folder = tmp_path / "bundle"
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(samples.mlp())
    (folder / "test_data_set_0" / "input_0.pb").write_bytes(b"\x08\x01")
    one = window(signed=True)
    one.open("/upload")
    one.page.fill("[name=name]", "folder")
    one.page.set_input_files("#folder", folder)
    one.page.click("text=Create draft")
    expect(one.page.locator("main")).to_contain_text("Submitting freezes the 2 files")
    paths = {file["path"] for file in hub.api("GET", "models/zoo/folder/versions/1")["files"]}
    assert paths == {"model.onnx", "test_data_set_0/input_0.pb"}
