"""What pages do: keys, copying, filtering in place, colours, and a job that is watched."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from contextlib import closing

from playwright.sync_api import expect

from tests import samples


def focused(page):
    return page.evaluate(
        "(e => e.getAttribute('aria-label') || e.name || e.textContent.trim())"
        "(document.activeElement)"
    )


def test_keyboard_walk(window):
    one = window()
    one.open("/models")
    page = one.page
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    one.open("/models")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        seen.append(focused(page))
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) != "none", f"no focus to be seen on {seen[-1]}"
    for stop in (
        "Model hub, home",
        "Models",
        "Search models",
        "Upload",
        "Sign in",
        "Name or summary",
    ):
        assert stop in seen


def test_single_keys(window):
    one = window()
    one.open("/")
    page = one.page
    page.keyboard.press("/")
    assert focused(page) == "Search models"
    page.keyboard.type("net?/j")
    assert page.input_value("header [name=q]") == "net?/j"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/models")
    page.keyboard.press("j")
    first = focused(page)
    page.keyboard.press("j")
    assert focused(page) != first
    page.keyboard.press("k")
    assert focused(page) == first
    page.keyboard.press("Enter")
    page.wait_for_url("**/models/zoo/*")
    page.keyboard.press("?")
    page.wait_for_url("**/help#keys")
    page.click("text=Turn off")
    page.wait_for_load_state()
    page.keyboard.press("/")
    assert focused(page) != "Search models"


def test_menu_opens_closes_and_returns_focus(window):
    one = window(width=390, signed=True)
    one.open("/")
    page = one.page
    menu = page.locator("summary[aria-label=Menu]")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.locator("text=Tokens").last).to_be_visible()
    assert one.axe() == []
    one.shoot("menu-390")
    page.keyboard.press("Escape")
    expect(page.locator(".menu[open]")).to_have_count(0)
    assert focused(page) == "Menu"


def test_colours_are_chosen_in_three_steps(window):
    one = window()
    one.open("/models")
    for theme in ("light", "dark", None):
        one.page.click('form[action="/theme"] button')
        one.page.wait_for_load_state()
        assert one.page.get_attribute("html", "data-theme") == theme
        assert one.page.url.endswith("/models")


def test_copy(window):
    one = window()
    one.context.grant_permissions(["clipboard-read", "clipboard-write"])
    one.open("/models/zoo/net")
    one.page.click('[aria-label="Copy the reference"]')
    expect(one.page.locator("#said")).to_have_text("Copied")
    assert one.page.evaluate("navigator.clipboard.readText()") == "zoo/net@2"


def test_copy_refused_selects_the_text(window):
    one = window()
    one.open("/models/zoo/net")
    refusing = "{value: {writeText: () => Promise.reject()}}"
    one.page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {refusing})")
    one.page.click('[aria-label="Copy the reference"]')
    expect(one.page.locator("#said")).to_contain_text("Selected")
    assert one.page.evaluate("getSelection().toString()").strip() == "zoo/net@2"


def test_filters_answer_in_place_and_back_returns(window):
    one = window()
    one.open("/models")
    page = one.page
    every = page.locator("[data-item]").count()
    page.evaluate("window.stayed = true")
    box = page.get_by_role("checkbox", name=re.compile("Tabular classification"))
    box.check()
    page.wait_for_url("**/models?task=tabular-classification")
    expect(page.locator("[data-item]")).to_have_count(2)
    assert page.evaluate("window.stayed")
    assert page.evaluate("document.activeElement.value") == "tabular-classification"
    expect(page.locator("#said")).to_contain_text("2 of")
    page.locator("select[name=sort]").select_option("size")
    page.wait_for_url("**/models?task=tabular-classification&sort=size")
    page.get_by_label("Remove filter Task: Tabular classification").click()
    page.wait_for_url("**/models?sort=size")
    expect(page.locator("[data-item]")).to_have_count(every)
    page.go_back()
    page.wait_for_url("**/models?task=tabular-classification&sort=size")
    expect(page.locator("[data-item]")).to_have_count(2)


def test_version_is_picked(window):
    one = window()
    one.open("/models/zoo/net/v/2/files")
    one.page.locator("select[name=v]").select_option("1")
    one.page.wait_for_url("**/models/zoo/net/v/1/files")
    assert "Yanked." in one.page.locator("main").inner_text()


def test_download_has_the_bytes_it_names(window, hub):
    import hashlib

    one = window()
    one.open("/models/zoo/net")
    with one.page.expect_download() as download:
        one.page.click("text=Download")
    content = download.value.path().read_bytes()
    told = one.page.get_attribute('[aria-label="Copy the sha256"]', "data-copy")
    assert hashlib.sha256(content).hexdigest() == told
    assert download.value.suggested_filename == "model.onnx"


def signal_workers(hub, number):
    for worker in hub.workers():
        os.kill(worker, number)


def is_free(database):
    """Whether nobody holds the lock that whoever writes needs."""
    with closing(sqlite3.connect(database, timeout=1, isolation_level=None)) as line:
        try:
            line.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        line.execute("ROLLBACK")
        return True


def stop_workers(hub):
    """Stop the workers between two of their transactions: in one they would stop everybody."""
    signal_workers(hub, signal.SIGSTOP)
    while not is_free(hub.home / "hub.sqlite3"):
        signal_workers(hub, signal.SIGCONT)
        time.sleep(0.1)
        signal_workers(hub, signal.SIGSTOP)


def test_job_is_watched_until_it_ends(window, hub):
    stop_workers(hub)
    try:
        # Work on bytes that were checked before would end at once.
        version = hub.draft("watched", contents={"model.onnx": samples.mlp(hidden=11)})
        hub.api("POST", f"{version}/submit", {"publish": True})
        uuid = hub.api("GET", version)["jobs"][0]["uuid"]
        one = window(signed=True)
        asked = []
        one.page.on("request", lambda request: asked.append(request.url))
        one.open(f"/jobs/{uuid}")
        assert one.page.title().startswith("queued")
        assert "Waiting" in one.page.locator("#job").inner_text()
        one.shoot("job-queued-1440")
        assert one.axe() == []
    finally:
        signal_workers(hub, signal.SIGCONT)
    expect(one.page.locator("#job")).to_contain_text("succeeded")
    expect(one.page).to_have_title(re.compile("^succeeded"))
    expect(one.page.locator("#said")).to_have_text("The job succeeded")
    # The hub sent what changed; the page did not have to ask.
    assert [url for url in asked if url.endswith(f"/jobs/{uuid}/events")]
    assert not [url for url in asked if url.endswith("?part")]
    expect(one.page.get_by_role("button", name="Cancel job")).to_have_count(0)
    one.shoot("job-done-1440")
    assert one.axe() == []
    hub.wait_for(version, "published")


def test_token_is_made_shown_once_used_and_revoked(window, hub):
    one = window(signed=True)
    page = one.page
    one.open("/account/tokens")
    page.fill("[name=name]", "a laptop")
    page.click("text=Create token")
    secret = page.locator("main pre").inner_text().strip()
    assert secret.startswith("hf_")
    one.shoot("token-made-1440")
    assert one.axe() == []
    whole, hub.token = hub.token, secret
    try:
        assert hub.api("GET", "whoami")["username"] == "admin"
    finally:
        hub.token = whole
    one.open("/account/tokens")
    assert secret not in page.content()
    page.click('[aria-label="Revoke a laptop"]')
    one.shoot("token-revoke-1440")
    page.click("main button")
    page.wait_for_url("**/account/tokens")
    assert "a laptop is revoked" in page.locator("main").inner_text()


def test_choosing_a_variant_keeps_the_tab_and_the_choice(window):
    one = window()
    one.open("/models/zoo/proven/v/1/conformance")
    one.page.select_option("[aria-label=Variant]", "int8")
    one.page.wait_for_url("**/v/1/conformance?variant=int8")
    one.page.click("nav.tabs >> text=Overview")
    one.page.wait_for_url("**/v/1?variant=int8")
    expect(one.page.locator("section[aria-labelledby=use]")).to_contain_text("zoo/proven@1:int8")
    one.page.select_option("[aria-label=Variant]", "default")
    one.page.wait_for_url(re.compile(r"/v/1$"))


def test_current_tab_is_in_sight_on_a_phone(window):
    one = window(width=390)
    one.open("/models/zoo/proven/v/1/variants")
    box = one.page.locator(".tabs [aria-current]").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_a_cell_opens_its_evidence_and_the_node_can_be_taken(window):
    one = window()
    one.open("/models/zoo/proven/v/1/conformance")
    one.page.click(".matrix td.fail a >> nth=0")
    one.page.wait_for_url("**/conformance/*")
    with one.page.expect_download() as taken:
        one.page.click("text=One-node model")
    assert taken.value.suggested_filename.endswith("diverging-Conv.zip")


def test_wrong_wish_for_a_variant_is_told_at_its_field(window):
    one = window(signed=True)
    one.watch.expected = (r"status of 422",)
    one.open("/models/zoo/proven/v/1/variants")
    one.page.select_option("[name=kind]", "fp16")
    one.page.fill("[name=opset]", "21")
    one.page.get_by_role("button", name="Create variant", exact=True).click()
    fault = one.page.locator(".field:has([name=opset]) .errorlist")
    expect(fault).to_contain_text("fp16 takes no opset; upgrade does.")
    assert one.page.input_value("[name=opset]") == "21"
    assert one.axe() == []


def test_a_query_is_written_run_and_gone_back_from(window):
    one = window()
    one.open("/models")
    one.page.keyboard.press("g")
    one.page.keyboard.press("q")
    one.page.wait_for_url("**/query")
    one.page.locator("#sparql > summary").click()
    field = one.page.get_by_label("SPARQL query")
    field.fill("")
    one.page.locator(".vocabulary summary", has_text="hub:").first.click()
    one.page.get_by_role("button", name="Insert hub:precision", exact=True).click()
    assert re.fullmatch(r"PREFIX hub: <http\S+/ns#>\nhub:precision", field.input_value())
    field.fill("SELECT *\nWHERE {\n  FILTR }")
    field.press("Control+Enter")
    one.page.wait_for_url("**/query?query=*")
    expect(one.page.locator("#trouble")).to_contain_text("Line 3, column")
    expect(one.page.locator(".ruler .wrong")).to_have_text("  FILTR }")
    field = one.page.get_by_label("SPARQL query")
    assert field.input_value() == "SELECT *\nWHERE {\n  FILTR }"
    field.fill("ASK { ?s ?p ?o }")
    expect(one.page.locator(".ruler .wrong")).to_have_count(0)
    one.page.get_by_role("button", name="Run", exact=True).click()
    expect(one.page.locator(".word")).to_have_text("Yes")
    one.page.go_back()
    expect(one.page.locator("#trouble")).to_be_visible()


def test_tab_indents_and_escape_lets_it_leave(window):
    one = window()
    one.open("/query")
    one.page.locator("#sparql > summary").click()
    field = one.page.get_by_label("SPARQL query")
    field.fill("")
    field.press("Tab")
    assert field.input_value() == "  "
    field.press("Escape")
    field.press("Tab")
    expect(field).not_to_be_focused()
    assert field.input_value() == "  "


def test_a_query_runs_without_scripts_and_its_rows_lead_to_pages(window):
    one = window(java_script_enabled=False)
    one.open("/query")
    one.page.locator("#sparql > summary").click()
    field = one.page.get_by_label("SPARQL query")
    field.fill(
        "SELECT ?model WHERE { ?model <http://purl.org/dc/terms/identifier> 'zoo/proven@1' }"
    )
    one.page.get_by_role("button", name="Run", exact=True).click()
    one.page.get_by_role("link", name="zoo/proven@1", exact=True).click()
    one.page.wait_for_url("**/models/zoo/proven/v/1")
