"""Pages that update by themselves: a draft that is published, the queue, a quiet page's answers."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import CARD

WAIT = 120_000


def test_a_draft_becomes_published_without_reload(hub, window):
    hub.draft("living", card=CARD)
    one = window(signed=True)
    page = one.page
    one.open("/models/zoo/living/v/1/draft")
    page.click("button:has-text('Submit')")
    page.wait_for_url("**/draft")
    page.evaluate("window.kept = 'the same page'")
    expect(page.locator("#draft-head")).to_contain_text("Published.", timeout=WAIT)
    assert page.evaluate("window.kept") == "the same page"
    expect(page.locator("#draft-head")).to_contain_text("Its evidence is")
    expect(page.locator("#draft-next")).to_contain_text("View version 1")
    assert "is published" in page.locator("#said").inner_text()
    assert "published" in page.title()
    assert one.axe() == []
    one.shoot("live-draft")
    page.click("#draft-next a")
    page.wait_for_url("**/v/1")
    if page.locator("#under-way section").is_visible():
        one.shoot("live-version")
        assert one.axe() == []


def test_the_queue_shows_new_jobs_by_itself(hub, window):
    one = window()
    page = one.page
    one.open("/jobs")
    page.evaluate("window.kept = 'the same page'")
    page.locator("nav.tabs a").first.focus()
    version = hub.draft("queued-up", card=CARD)
    hub.publish(version)
    expect(page.locator("#jobs-rows")).to_contain_text("zoo/queued-up@1", timeout=WAIT)
    assert page.evaluate("window.kept") == "the same page"
    assert page.evaluate("document.activeElement.textContent") == "All"


def test_a_quiet_page_is_answered_with_304_and_asks_less_and_less(hub, window):
    one = window()
    page = one.page
    answers = []
    page.on("response", lambda answer: "/live" in answer.url and answers.append(answer.status))
    page.clock.install()
    one.open("/models/zoo/net/trainings/1")
    for _ in range(5):
        with page.expect_response("**/trainings/1/live"):
            page.clock.run_for(2000)
    # Its last round may just have been made.
    assert answers[-3:] == [304] * 3
    # After a minute it asks every 10 s.
    for _ in range(30):
        page.clock.run_for(2000)
        page.wait_for_timeout(50)
    before = len(answers)
    for _ in range(10):
        page.clock.run_for(2000)
        page.wait_for_timeout(100)
    assert 1 <= len(answers) - before <= 3
