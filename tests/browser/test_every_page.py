"""Every page: accessible, within its limits, self-contained, whole without scripts."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import AXE_COLOURS, AXE_RULES, LONG

GUEST = {
    "home": "/",
    "models": "/models",
    "models-filtered": "/models?task=image-classification&precision=fp32",
    "models-none": "/models?q=nothing-is-called-this&license=mit",
    "models-text": "/models?q=resnte50",
    "compare": "/compare?m=zoo/resnet50&m=zoo/digits-cnn",
    "compare-six": "/compare?m=zoo/proven&m=zoo/proven:int8&m=zoo/resnet50&m=zoo/net&m=zoo/stuck"
    f"&m=zoo/{LONG}",
    "compare-none": "/compare",
    "compare-refused": "/compare?m=zoo/resnet50&m=zoo/there-is-no-such-model",
    "model": "/models/zoo/net",
    "model-resnet50": "/models/zoo/resnet50",
    "model-yanked": "/models/zoo/net/v/1",
    "model-withdrawn": "/models/zoo/gone/v/1",
    "model-long": f"/models/zoo/{LONG}",
    "files": "/models/zoo/digits-cnn/v/1/files",
    "checks": "/models/zoo/digits-cnn/v/1/checks",
    "checks-package": "/models/zoo/proven/v/1/checks",
    "versions": "/models/zoo/net/versions",
    "graph": "/models/zoo/resnet50/v/1/graph",
    "graph-found": "/models/zoo/resnet50/v/1/graph?q=conv&op=Conv",
    "graph-nothing": "/models/zoo/resnet50/v/1/graph?q=nothing-is-called-this",
    "graph-variant": "/models/zoo/proven/v/1/graph?variant=int8",
    "graph-withdrawn": "/models/zoo/gone/v/1/graph",
    "graph-difference": "/models/zoo/net/v/2/graph/diff/1",
    "files-derived": "/models/zoo/proven/v/1/files",
    "model-proven": "/models/zoo/proven/v/1",
    "model-variant": "/models/zoo/proven/v/1?variant=int8",
    "conformance": "/models/zoo/proven/v/1/conformance",
    "conformance-variant": "/models/zoo/proven/v/1/conformance?variant=int8",
    "evidence-failed": "/models/zoo/proven/v/1/conformance/{failed}",
    "evidence-passed": "/models/zoo/proven/v/1/conformance/{passed}",
    "variants": "/models/zoo/proven/v/1/variants",
    "provenance": "/models/zoo/proven/v/1/provenance",
    "compliance": "/models/zoo/proven/v/1/compliance",
    "provenance-derived": "/models/zoo/digits-cnn-int8/v/1/provenance",
    "provenance-withdrawn": "/models/zoo/gone/v/1/provenance",
    "provenance-long": f"/models/zoo/{LONG}/v/1/provenance",
    "carbon": "/models/zoo/digits-cnn/v/1/carbon",
    "lineage": "/models/zoo/digits-cnn/v/1/lineage",
    "lineage-derived": "/models/zoo/digits-cnn-int8/v/1/lineage",
    "lineage-long": f"/models/zoo/{LONG}/v/1/lineage",
    "view-card": "/models/zoo/digits-cnn/v/1/view/README.md",
    "view-source": "/models/zoo/digits-cnn/v/1/view/README.md?source",
    "view-labels": "/models/zoo/digits-cnn/v/1/view/labels.txt",
    "view-weights": "/models/zoo/digits-cnn/v/1/view/model.onnx",
    "benchmarks": "/models/zoo/proven/v/1/benchmarks",
    "benchmarks-chosen": "/models/zoo/proven/v/1/benchmarks?batch=8",
    "benchmarks-none": "/models/zoo/net/v/2/benchmarks",
    "benchmarks-withdrawn": "/models/zoo/gone/v/1/benchmarks",
    "benchmark": "/models/zoo/proven/v/1/benchmarks/{benchmark}",
    "benchmark-range": "/models/zoo/proven/v/1/benchmarks/{benchmark}?from=100&to=200",
    "benchmark-noisy": "/models/zoo/proven/v/1/benchmarks/{noisy}",
    "across": "/benchmarks",
    "find": "/find",
    "find-question": "/find?task=image-classification&max_bytes=20000000&x=size",
    "find-none": "/find?task=translation",
    "query-words": "/query?words=image+classifiers+under+10+MB",
    "across-none": "/benchmarks?task=translation",
    "device": "/devices/example-cpu-2-cores",
    "runtime": "/runtimes/onnxruntime",
    "try": "/models/zoo/digits-cnn/v/1/try",
    "try-table": "/models/zoo/wine-gbt/v/1/try",
    "try-withdrawn": "/models/zoo/gone/v/1/try",
    "collections": "/collections",
    "collection": "/collections/zoo/small",
    "discussions": "/models/zoo/net/discussions?status=all",
    "discussion": "/models/zoo/net/discussions/1",
    "trainings": "/trainings",
    "trainings-model": "/models/zoo/net/trainings",
    "training": "/models/zoo/net/trainings/1",
    "training-join": "/models/zoo/net/trainings/1/join?code=fi_unknown",
    "round": "/models/zoo/net/trainings/1/rounds/1",
    "variants-stuck": "/models/zoo/stuck/v/1/variants",
    "scoreboard": "/scoreboard",
    "score": "/scoreboard/onnxruntime/1.31.1",
    "score-cases": "/scoreboard/onnxruntime/1.31.1?show=cases",
    "score-changes": "/scoreboard/onnxruntime/1.31.1?with=1.30.0",
    "query": "/query",
    "query-rows": "/query?example=models-by-licence",
    "query-links": "/query?query=SELECT+%2A+WHERE+%7B+%3Fs+%3Fp+%3Fo+%7D",
    "query-graph": "/query?example=everything-about-a-version",
    "query-wrong": "/query?query=SELECT+%2A%0AWHERE+%7B%0A++FILTR+%7D",
    "jobs": "/jobs",
    "workers": "/workers",
    "login": "/login",
    "password-reset": "/login/reset",
    "password-reset-sent": "/login/reset/sent",
    "password-reset-wrong": "/login/reset/1-wrong",
    "sign-up": "/account/new",
    "help": "/help",
    "documentation": "/docs",
    "document": "/docs/operate",
    "documentation-search": "/docs?q=rate",
    "problem": "/problems/digest-mismatch",
    "health": "/health",
    "vocabulary": "/ns",
    "catalogue": "/catalog",
    "task": "/tasks/image-classification",
    "agent": "/agents/zoo",
}
SIGNED = {
    "model-draft": "/models/zoo/drafted/v/1",
    "model-empty": "/models/zoo/nothing",
    "draft": "/models/zoo/drafted/v/1/draft",
    "draft-rejected": "/models/zoo/broken/v/1/draft",
    "checks-failed": "/models/zoo/broken/v/1/checks",
    "jobs-failed": "/jobs?state=failed",
    "conformance-run": "/models/zoo/proven/v/1/conformance",
    "conformance-draft": "/models/zoo/drafted/v/1/conformance",
    "graph-draft": "/models/zoo/drafted/v/1/graph",
    "versions-kept": "/models/zoo/net/versions",
    "version-yank": "/models/zoo/net/v/2/yank",
    "version-deprecate": "/models/zoo/net/v/2/deprecate",
    "model-deprecated": "/models/zoo/gone/v/2",
    "model-undeprecate": "/models/zoo/gone/undeprecate",
    "version-withdraw": "/models/zoo/net/v/2/withdraw",
    "model-delete": "/models/zoo/net/delete",
    "settings": "/models/zoo/net/settings",
    "fleet": "/models/zoo/net/fleets/shops",
    "fleet-none": "/models/zoo/net/fleets/empty",
    "trainings-kept": "/models/zoo/net/trainings",
    "training-new": "/models/zoo/net/trainings/new",
    "training-invite": "/models/zoo/net/trainings/1/invite",
    "fleets": "/models/zoo/net/fleets",
    "fleet-devices": "/models/zoo/net/fleets/shops/devices",
    "training-kept": "/models/zoo/net/trainings/1",
    "round-kept": "/models/zoo/net/trainings/1/rounds/2",
    "try-server": "/models/zoo/digits-cnn/v/1/try",
    "benchmarks-run": "/models/zoo/proven/v/1/benchmarks",
    "variants-make": "/models/zoo/proven/v/1/variants",
    "scoreboard-run": "/scoreboard",
    "dataset-publish": "/datasets/digits/publish",
    "evaluate": "/models/zoo/digits-cnn/v/1/evaluate",
    "upload": "/upload",
    "upload-version": "/models/zoo/net/upload",
    "watching": "/watching",
    "comparisons-saved": "/compare/saved",
    "compare-save": "/compare?m=zoo/digits-cnn&m=zoo/wine-gbt&m=zoo/proven",
    "collection-new": "/collections/new?model=zoo/net",
    "collection-edit": "/collections/zoo/small/edit",
    "discussions-empty": "/models/zoo/nothing/discussions",
    "discussions-own": "/account/discussions",
    "discussion-new": "/models/zoo/net/discussions/new?version=1&node=/conv1/Conv",
    "discussion-kept": "/models/zoo/net/discussions/1",
    "discussion-edit": "/models/zoo/net/discussions/1/edit",
    "comment-edit": "/models/zoo/net/discussions/1/comments/1/edit",
    "account": "/account",
    "namespace": "/account/namespaces/zoo",
    "service-accounts": "/account/namespaces/zoo/service-accounts",
    "service-account": "/account/namespaces/zoo/service-accounts/zoo+ci",
    "service-account-close": "/account/namespaces/zoo/service-accounts/zoo+ci/close",
    "publishers": "/account/namespaces/zoo/publishers",
    "signers": "/account/namespaces/zoo/signers",
    "namespace-new": "/account/namespaces/new",
    "member-remove": "/account/namespaces/zoo/members/admin",
    "administration": "/administration",
    "accounts": "/administration/accounts",
    "user": "/administration/accounts/admin",
    "security_log": "/administration/security-log?subject=user",
    "password": "/account/password",
    "tokens": "/account/tokens",
    "webhooks": "/account/webhooks",
    "webhook": "/account/webhooks/{webhook}",
    "email": "/account/email",
    "factors": "/account/factors",
    "sessions": "/account/sessions",
    "account-data": "/account/data",
    "confirm": "/account/confirm",
    "invitations": "/administration/invitations",
    "provisioning": "/administration/provisioning",
}
ERRORS = {"error-404": "/models/zoo/there-is-no-such-model"}
# Pages that answer something else than 200, with their status.
STATUS = dict.fromkeys(ERRORS, 404) | {"model-withdrawn": 410}
PAGES = GUEST | SIGNED | ERRORS

# Most bytes, compressed: document, style sheets, scripts, everything.
LIMITS = {
    "home": (10, 12, 5, 80),
    "login": (10, 12, 5, 80),
    "models": (25, 12, 20, 110),
    "compare": (30, 12, 20, 130),
    "compare-six": (30, 12, 20, 130),
    "model": (30, 12, 20, 130),
    "model-resnet50": (30, 12, 20, 130),
    "files": (30, 12, 20, 130),
    "checks": (30, 12, 20, 130),
    "versions": (30, 12, 20, 130),
    "graph": (30, 12, 20, 130),
    "graph-difference": (30, 12, 20, 130),
    "model-proven": (30, 12, 20, 130),
    "conformance": (30, 12, 20, 130),
    "evidence-failed": (30, 12, 20, 130),
    "variants": (30, 12, 20, 130),
    "benchmarks": (30, 12, 20, 130),
    "benchmark": (30, 12, 20, 130),
    "benchmark-range": (30, 12, 20, 130),
    "across": (30, 12, 20, 130),
    "device": (30, 12, 20, 130),
    "training": (30, 12, 20, 130),
    "round": (30, 12, 20, 130),
    # Before use; what a run loads is measured in test_try.py.
    "try": (30, 12, 45, 140),
    "provenance": (30, 12, 20, 130),
    "carbon": (30, 12, 20, 130),
    "lineage": (30, 12, 20, 130),
    "view-source": (30, 12, 20, 130),
    "view-weights": (30, 12, 20, 130),
    "scoreboard": (30, 12, 20, 130),
    "score": (30, 12, 20, 130),
    "score-cases": (30, 12, 20, 130),
    "query": (15, 12, 125, 200),
    "query-rows": (15, 12, 125, 200),
    "query-wrong": (15, 12, 125, 200),
}


def address(one, name):
    """Where a page is; some lie at ids that the hub gave."""
    return PAGES[name].format_map(one.hub.made)


# Texts that their element cuts off, without the mark of an ellipsis and without a way to scroll.
CUT = """
() => [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one);
  const cuts = (way) => ["hidden", "clip"].includes(way);
  const drawn = ".sr, .sr *, .skip, svg, svg *, canvas, video";
  if (one.matches(drawn) || !one.checkVisibility()) return false;
  if (!one.textContent.trim() || style.textOverflow === "ellipsis") return false;
  return (cuts(style.overflowX) && one.scrollWidth > one.clientWidth + 1)
    || (cuts(style.overflowY) && one.scrollHeight > one.clientHeight + 1);
}).map((one) => one.outerHTML.slice(0, 200))
"""
WIDTHS = {1440: 900, 390: 844}
# Pages whose scripts ask for the width when they begin; all others know it from style sheets alone.
LOOKING_AT_THE_WIDTH = ("models", "query")


@pytest.mark.parametrize("name", PAGES)
def test_accessible_and_self_contained(window, name):
    one = window(signed=name in SIGNED)
    status = STATUS.get(name, 200)
    one.watch.expected = () if status == 200 else (rf"status of {status}",)
    response = None
    for width, height in WIDTHS.items():
        one.page.set_viewport_size({"width": width, "height": height})
        if response is None or name.startswith(LOOKING_AT_THE_WIDTH):
            response = one.open(address(one, name))
            assert response.status == status
            one.page.wait_for_function("document.fonts.status === 'loaded'")
        for theme, rules in (("light", AXE_RULES), ("dark", AXE_COLOURS)):
            one.page.emulate_media(color_scheme=theme)
            one.shoot(f"{name}-{width}-{theme}")
            assert one.axe(rules) == [], f"{width} px, {theme}"
        wide = one.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{wide} px wider than the window"
    html = response.text()
    assert " style=" not in html
    assert not re.search(r'<script(?![^>]* src=|[ ]type="application/ld\+json">)', html)
    assert one.page.evaluate("document.querySelectorAll('*').length") < 1500
    # It reflows at 320 px, with large text, and with both.
    for width, size in ((320, 100), (1280, 200), (320, 200)):
        one.page.set_viewport_size({"width": width, "height": 844})
        one.page.evaluate("size => document.documentElement.style.fontSize = size", f"{size}%")
        wide = one.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{wide} px wider than {width} px, text at {size} %"
        assert one.page.evaluate(CUT) == [], f"cut at {width} px, text at {size} %"


@pytest.mark.parametrize("name", PAGES)
def test_whole_without_scripts(window, name):
    one = window(signed=name in SIGNED, java_script_enabled=False)
    one.watch.expected = (rf"status of {STATUS[name]}",) if name in STATUS else ()
    one.open(address(one, name))
    assert one.page.locator("h1:visible").count() == 1
    assert one.page.locator("main").inner_text().strip()
    assert one.page.locator("[data-scripted]:visible").count() == 0


@pytest.mark.parametrize("name", LIMITS)
def test_within_its_limits(window, name):
    one = window()
    one.open(address(one, name))
    one.page.wait_for_load_state("networkidle")
    kilobytes = {kind: round(size / 1000, 1) for kind, size in one.watch.weights().items()}
    one.note("kilobytes.txt", f"{name}: {kilobytes}, all {sum(kilobytes.values()):.1f}")
    document, styles, scripts, everything = LIMITS[name]
    assert kilobytes["document"] <= document
    assert kilobytes["stylesheet"] <= styles
    assert kilobytes["script"] <= scripts
    assert kilobytes["font"] <= 45
    assert sum(kilobytes.values()) <= everything


def test_colours_forced_by_the_reader(window):
    one = window(forced_colors="active")
    for name in ("models", "benchmarks", "benchmark", "try", "model"):
        one.open(address(one, name))
        one.shoot(f"{name}-forced")
        assert one.axe() == []
    style = "getComputedStyle(document.querySelector('.tabs [aria-current]')).borderBottomStyle"
    assert one.page.evaluate(style) == "double"
