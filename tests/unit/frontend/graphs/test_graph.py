"""The graph tab: nodes, drawing, difference; who may see what, and what the frame lets through."""

from __future__ import annotations

import re
from html import unescape

import onnx
import pytest
from onnx import helper

from frontend.pages.graphs import netron, network
from frontend.presenters import differences as worded
from registry.models import File, RegisteredModel
from registry.versions.services import versions
from runners.graphs import differences, networks
from runners.models import Job
from runners.queue import order
from tests import drawn, factories, proven, samples, shared
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/v/1"
GRAPH = f"{PAGE}/graph"
FRAME = f"{GRAPH}/frame/"
SKELETON = f"{GRAPH}/skeleton.onnx"


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def graph(version):
    drawn.draw(version)
    return version


def words(page):
    """A page as it is read out, without its tags."""
    return re.sub(r"[ \n]+", " ", unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])))


def status(somebody, path):
    """What an address answers; whatever is sent is read to its end."""
    answer = somebody.get(path)
    if answer.streaming:
        answer.getvalue()
    return answer.status_code


def rows(page):
    return re.findall(r'<tr class="op-([a-z]+)"><th scope="row">(.*?)</th>', page, re.DOTALL)


def chain(length, *, prefix="node"):
    nodes = [
        helper.make_node("Relu" if n % 2 else "Neg", [f"v{n}"], [f"v{n + 1}"], f"{prefix}-{n}")
        for n in range(length)
    ]
    made = samples.model(nodes, [samples.value("v0")], [samples.value(f"v{length}")])
    return made.SerializeToString()


# --- the tab -----------------------------------------------------------------------------------


def test_every_node_with_inputs_outputs_and_attributes(guest, graph):
    page = guest.page(GRAPH)
    assert [(kind, name.split("\n")[0]) for kind, name in rows(page)] == [
        ("matmul", "Gemm"), ("activation", "Relu"), ("matmul", "Gemm"), ("activation", "Softmax"),
    ]  # fmt: skip
    said = words(page)
    assert "x float32[N, 4] w1 float32[4, 8] b1 float32[8]" in said
    assert "axis = 1" in said
    assert 'aria-current="page">Graph' in page
    assert "Open graph" in said
    assert f"Netron {netron.version()}" in said


def test_search_operators_and_pages_are_links_and_a_form(guest, ada):
    drawn.draw(factories.version(ada, contents={"model.onnx": chain(450)}))
    page = guest.page(GRAPH)
    assert len(rows(page)) == network.PAGE
    assert "1 to 150 of 450" in words(page)
    assert 'href="?page=2#nodes"' in page
    last = guest.page(f"{GRAPH}?page=3")
    assert len(rows(last)) == 150
    assert rows(guest.page(f"{GRAPH}?page=99")) == rows(last)
    found = guest.page(f"{GRAPH}?q=NODE-44")
    assert len(rows(found)) == 11  # 44 and 440 to 449
    assert "11 of 450 nodes" in words(found)
    only = guest.page(f"{GRAPH}?op=Neg&q=node-44")
    assert {name.split("\n")[0] for _, name in rows(only)} == {"Neg"}
    assert 'name="op" value="Neg"' in only
    none = guest.page(f"{GRAPH}?q=nothing-like-it")
    assert "No nodes match" in none
    assert 'href="?#nodes"' in none


def test_a_word_of_a_stranger_is_text(guest, ada):
    node = helper.make_node("Relu", ["x"], ["y"], "<script>alert(1)</script>")
    contents = {"model.onnx": samples.model([node]).SerializeToString()}
    drawn.draw(factories.version(ada, contents=contents))
    page = guest.page(f"{GRAPH}?q=%3Cscript%3Ealert")
    assert "<script>alert" not in page
    assert len(rows(page)) == 1


def test_a_table_of_another_shape_than_expected_is_no_error():
    for table in ({}, {"nodes": 3}, {"nodes": [3, {"op": 4, "in": "x", "attrs": [[1]], "c": 99}]}):
        found = network.listing(table, {}, "", with_values=True)
        assert found is None or found["rows"][0]["category"] == "other"


def test_before_it_is_drawn_its_state_is_told(guest, reader, version):
    Job.objects.filter(kind=networks.KIND).delete()
    assert "Sign in to prepare the graph" in words(guest.page(GRAPH))
    assert "Prepare graph" in words(reader.page(GRAPH))
    asked = reader.post(f"{GRAPH}/make", {"variant": "default"})
    assert (asked.status_code, asked["Location"]) == (302, GRAPH)
    assert "Preparing the graph" in words(guest.page(GRAPH))
    job = Job.objects.get(kind=networks.KIND)
    assert reader.post(f"{GRAPH}/make", {"variant": "default"}).status_code == 302
    assert Job.objects.filter(kind=networks.KIND).get() == job
    job.state, job.error_class = Job.State.FAILED, "deterministic"
    job.save()
    assert "The graph could not be prepared" in words(guest.page(GRAPH))


def test_a_guest_cannot_have_anything_made(guest, version):
    assert guest.post(f"{GRAPH}/make").status_code == 401


def test_a_published_version_gets_its_graph(ada):
    made = factories.published(ada)
    (job,) = Job.objects.filter(version=made, kind=networks.KIND)
    assert job.entry == "model.onnx"
    assert networks.schedule_missing(made) == 0


def test_a_draft_has_no_graph_yet(reader, ada):
    factories.draft(ada)
    assert "available after publication" in words(reader.page(GRAPH))
    assert status(reader, SKELETON) == 404


def test_files_are_listed_apart_and_never_among_the_uploaded(guest, graph, api):
    page = guest.page(f"{PAGE}/files")
    assert "Graphs without weights" in page
    derived = File.objects.filter(version=graph, derived=True)
    assert {file.path.split("/")[0] for file in derived} == {networks.FOLDER}
    assert not {file["path"] for file in api().get("models/ada/net/versions/1").json()["files"]
                if not file["derived"]} & {file.path for file in derived}  # fmt: skip


def test_variants_have_graphs_of_their_own(guest, graph):
    made = proven.upgrade(graph, chain(3))
    drawn.draw(graph, made)
    page = guest.page(f"{GRAPH}?variant={made.name}")
    assert len(rows(page)) == 3
    assert f'name="variant" value="{made.name}"' in page
    assert f"{FRAME}?variant={made.name}" in page
    frame = guest.page(f"{FRAME}?variant={made.name}")
    assert f"variant={made.name}" in re.search(r'name="file" content="([^"]+)"', frame)[1]
    served = guest.get(f"{SKELETON}?variant={made.name}")
    assert len(onnx.ModelProto.FromString(served.getvalue()).graph.node) == 3
    assert guest.get(f"{GRAPH}?variant=none").status_code == 404


def test_a_large_graph_offers_the_table_first(guest, graph, monkeypatch):
    monkeypatch.setattr(network, "MANY", 1)
    page = guest.page(GRAPH)
    assert "A large graph." in page
    assert page.index('href="#nodes"') < page.index("data-frame")


def test_what_the_file_says_of_itself(guest, ada):
    facts = factories.FACTS | {"metadata": {"author": "<b>Ada</b>"}, "opsets": {"ai.onnx": 17}}
    made = factories.submitted(ada)
    factories.work(facts=facts)
    made.refresh_from_db()
    said = guest.page(GRAPH)
    assert "&lt;b&gt;Ada&lt;/b&gt;" in said
    assert "ai.onnx 17" in said


# --- the skeleton and the frame ----------------------------------------------------------------


def test_the_skeleton_by_its_digest_never_changes(guest, graph):
    plain = guest.get(SKELETON)
    assert plain.status_code == 200
    assert plain["Cache-Control"] == "private, no-cache"
    made = onnx.ModelProto.FromString(plain.getvalue())
    assert [node.op_type for node in made.graph.node] == ["Gemm", "Relu", "Gemm", "Softmax"]
    sha256 = networks.of(graph.variants.get()).skeleton.blob_id
    assert plain["ETag"] == f'"{sha256}"'
    exact = guest.get(f"{SKELETON}?sha256={sha256}")
    exact.getvalue()
    assert exact["Cache-Control"] == "private, max-age=31536000, immutable"
    assert "model.skeleton.onnx" in exact["Content-Disposition"]
    assert guest.get(SKELETON, HTTP_IF_NONE_MATCH=plain["ETag"]).status_code == 304


def test_the_frame_has_the_four_traps_closed(guest, graph):
    answer = guest.get(FRAME)
    page = answer.content.decode()
    metas = dict(re.findall(r'<meta name="([a-z]+)" content="([^"]*)"', page))
    assert "date" not in metas
    assert metas["version"] == "0.0.0"
    assert metas["file"].startswith("../skeleton.onnx?sha256=")
    assert metas["file"].endswith(".onnx")
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    assert "user-scalable" not in page
    assert "<title>Graph of ada/net@1</title>" in page
    assert page.index("frontend/frame") < page.index('src="index.js"')
    assert answer["Content-Security-Policy"] == netron.POLICY
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    cookie = answer.cookies["consent"]
    assert (cookie.value, cookie["path"], cookie["samesite"]) == ("1", FRAME, "Strict")
    assert not re.search(r'(?:src|href)="https?://[^"]*\.(?:js|css)', page)


def test_the_policy_of_the_frame_names_no_other_host():
    parts = dict(part.strip().split(" ", 1) for part in netron.POLICY.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["connect-src"] == "'self'"
    assert parts["frame-ancestors"] == "'self'"
    assert "http" not in netron.POLICY
    assert "unsafe-eval" not in netron.POLICY


def test_other_pages_keep_the_hubs_policy(guest, graph):
    policy = guest.get(GRAPH)["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert guest.get(GRAPH)["X-Frame-Options"] == "DENY"


def test_files_of_the_viewer(guest):
    answer = guest.get(f"{FRAME}view.js")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert guest.get(f"{FRAME}view.js", HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    for name in ("server.py", "__init__.py", "nothing.js", "..%2Fsettings.py", "index.html"):
        assert guest.get(FRAME + name).status_code == 404, name


def test_a_hub_without_the_viewer_says_so(guest, graph, monkeypatch):
    monkeypatch.setattr(netron, "version", lambda: "")
    monkeypatch.setattr(netron, "folder", lambda: None)
    netron._first_page.cache_clear()
    assert "No viewer" in words(guest.page(GRAPH))
    assert guest.get(FRAME).status_code == 503


# --- who may see it ----------------------------------------------------------------------------


def problem(answer, name):
    """What a refusal says, but for the name that was asked for."""
    said = answer.json()
    return {
        key: str(said.get(key)).replace(f"ada/{name}", "ada/…")
        for key in ("type", "title", "status", "detail")
    }


def test_of_a_private_model_nothing_is_told(guest, reader, ada, bob):
    version = factories.version(ada, factories.model(ada, visibility="private"))
    drawn.draw(version)
    other = Reader()
    other.force_login(bob)
    missing = "/models/ada/nothing/v/1/graph"
    for end in ("", "/skeleton.onnx", "/frame/", "/diff/1"):
        for somebody in (guest, other):
            answer = somebody.get(GRAPH + end)
            assert answer.status_code == 404, end
            assert b"Gemm" not in answer.content
            assert problem(answer, "net") == problem(somebody.get(missing + end), "nothing")
        assert other.post(f"{GRAPH}/make").status_code == 404
    assert len(rows(reader.page(GRAPH))) == 4
    assert status(reader, SKELETON) == 200


def test_of_a_withdrawn_version_the_graph_is_gone(guest, reader, ada, graph):
    versions.withdraw(ada, version=graph, reason="It was wrong.")
    page = guest.page(GRAPH)
    assert rows(page) == []
    assert "The graph was deleted" in words(page)
    for path in (SKELETON, FRAME):
        assert guest.get(path).status_code == 410
        assert reader.get(path).status_code == 410


def test_a_gated_model_shows_nodes_and_keeps_small_weights(guest, reader, ada):
    bias = helper.make_node("Constant", [], ["c"], "bias", value_floats=[0.25, 0.125])
    leak = helper.make_node("LeakyRelu", ["c"], ["y"], "leak", alpha=0.4375)
    shape = helper.make_node("Flatten", ["c"], ["f"], "flat", axis=1)
    contents = {"model.onnx": samples.model([bias, leak, shape]).SerializeToString()}
    drawn.draw(factories.version(ada, contents=contents))
    RegisteredModel.objects.update(gate="manual")
    page = guest.page(GRAPH)
    assert len(rows(page)) == 3
    for secret in ("0.25", "0.125", "0.4375"):
        assert secret not in page
    assert "value_floats (floats)" in page
    assert "axis = 1" in page
    assert "Request access to view the graph" in words(page)
    assert "data-frame" not in page
    for path in (SKELETON, FRAME):
        assert guest.get(path).status_code == 401
    assert "0.125" in reader.page(GRAPH)  # its maintainer
    assert status(reader, SKELETON) == 200


# --- the difference ----------------------------------------------------------------------------


@pytest.fixture
def two(ada):
    """Two versions, the later with one more node and one other attribute."""
    first = factories.version(ada, contents={"model.onnx": chain(4)})
    again = factories.version(ada, first.model, contents={"model.onnx": chain(6)})
    return first.variants.get(), again.variants.get()


DIFF = "/models/ada/net/v/2/graph/diff/1"


def test_a_difference_is_asked_for_computed_and_kept(guest, reader, ada, two):
    before, after = two
    assert "Sign in to compare the graphs" in words(guest.page(DIFF))
    assert guest.post(DIFF).status_code == 401
    asked = reader.post(DIFF)
    assert (asked.status_code, asked["Location"]) == (302, DIFF)
    assert "Comparing graphs" in words(guest.page(DIFF))
    drawn.compare(before, after)
    page = guest.page(DIFF)
    said = words(page)
    assert "2 nodes added." in said
    assert "Neg node-4v5 float32[N]" in said
    assert page.count('class="barcode"') == 3  # the head's and both bands
    assert 'class="mark-alone"' in page
    assert reader.post(DIFF).status_code == 302
    assert Job.objects.filter(kind=differences.KIND).count() == 1
    assert guest.get(f"/jobs/{Job.objects.get(kind=differences.KIND).pk}").status_code == 200


def test_a_difference_made_ahead_is_raised_by_whoever_waits_for_it(guest, reader, two):
    differences.schedule_missing(two[1].version)
    for caller, can_raise in ((guest, False), (reader, True)):
        page = caller.page(DIFF)
        assert "Comparing graphs" in words(page)
        assert ("Compare now" in page) is can_raise
    assert reader.post(DIFF).status_code == 302
    assert "Compare now" not in reader.page(DIFF)
    assert Job.objects.get(kind=differences.KIND).priority < order.FIRST


def test_both_graphs_open_side_by_side_once_they_are_drawn(guest, reader, ada, two):
    before, after = two
    reader.post(DIFF)
    drawn.compare(before, after)
    page = guest.page(DIFF)
    assert "data-frame" not in page
    assert "Prepare graph of version 1" in words(page)
    for variant in two:
        drawn.draw(variant.version, variant)
    page = guest.page(DIFF)
    assert f'data-report="/api/v1/jobs/{differences.of(before, after).pk}"' in page
    assert '<tr data-output="v5" data-side="after">' in page
    frames = re.findall(r'href="([^"]+)" data-frame="Graph of version (\d)', page)
    place = f"{PAGE[:-1]}2/graph/frame/"
    assert frames == [(f"{place}?version=1", "1"), (place, "2")]
    shown = guest.page(f"{place}?version=1")
    assert 'content="../../../1/graph/skeleton.onnx?sha256=' in shown
    assert "<title>Graph of ada/net@1</title>" in shown
    assert status(guest, f"{place}?version=9") == 404


def test_lists_are_cut_and_continued(guest, reader, ada):
    first = factories.version(ada, contents={"model.onnx": chain(2)})
    again = factories.version(ada, first.model, contents={"model.onnx": chain(302)})
    reader.post(DIFF)
    drawn.compare(first.variants.get(), again.variants.get())
    page = guest.page(DIFF)
    assert "?list=added" in page
    assert page.count('<th scope="row">') == worded.LIMIT
    whole = guest.page(f"{DIFF}?list=added")
    assert whole.count('<th scope="row">') == worded.PAGE
    rest = guest.page(f"{DIFF}?list=added&page=2")
    assert rest.count('<th scope="row">') == 100


def test_variants_of_one_version_are_compared(guest, reader, graph, graphs):
    made = proven.convert(graph, chain(3))
    page = guest.page(f"{PAGE}/variants")
    url = f"{GRAPH}/diff/1?variant={made.name}&amp;with=default"
    assert url in page
    reader.post(unescape(url))
    drawn.compare(graph.variants.get(name="default"), made)
    assert "3 nodes removed" in words(guest.page(unescape(url)))
    assert status(guest, f"{GRAPH}/diff/1?with=default") == 400


def test_versions_lead_to_their_differences(guest, two):
    page = guest.page("/models/ada/net/versions")
    assert f'href="{DIFF}"' in page
    assert "diff/2" not in page


def test_a_withdrawn_side_takes_its_difference_along(guest, reader, ada, two):
    before, after = two
    reader.post(DIFF)
    drawn.compare(before, after)
    versions.withdraw(ada, version=before.version, reason="It was wrong.")
    from registry.core import outbox

    outbox.deliver()
    assert guest.get(DIFF).status_code == 410
    assert not Job.objects.filter(kind=differences.KIND).exists()


def weighed(value, *, alpha):
    """A model whose attributes are weights: a bias that is a constant, a slope, and an axis."""
    nodes = [
        helper.make_node("Constant", [], ["c"], "bias", value_floats=[value]),
        helper.make_node("LeakyRelu", ["c"], ["y"], "leak", alpha=alpha),
        helper.make_node("Flatten", ["c"], ["f"], "flat", axis=int(alpha > 0.5)),
    ]
    return samples.model(nodes).SerializeToString()


SECRETS = ("0.2578", "0.6328", "0.4375", "0.5625")


def test_a_gated_difference_keeps_small_weights(guest, reader, api, ada, bob):
    first = factories.version(ada, contents={"model.onnx": weighed(0.2578125, alpha=0.4375)})
    contents = {"model.onnx": weighed(0.6328125, alpha=0.5625)}
    again = factories.version(ada, first.model, contents=contents)
    RegisteredModel.objects.update(gate="manual")
    reader.post(DIFF)
    job = drawn.compare(first.variants.get(), again.variants.get())
    stranger = Reader()
    stranger.force_login(bob)
    for somebody, client in ((guest, api()), (stranger, api(bob))):
        page = somebody.page(DIFF)
        assert "alpha: (float) → (float)" in unescape(page)
        assert "axis: 0 → 1" in unescape(page)
        told = [client.get(path).content.decode() for path in (f"jobs/{job.pk}", "jobs")]
        assert '"(float)"' in told[0]
        for text in (page, *told):
            assert [secret for secret in SECRETS if secret in text] == []
    assert "alpha: 0.4375 → 0.5625" in unescape(reader.page(DIFF))
    for path in (f"jobs/{job.pk}", "jobs"):
        assert "0.5625" in api(ada).get(path).content.decode()


def test_an_operator_that_replaces_a_constant_keeps_its_value():
    change = {"what": "attribute", "name": "value_int", "before": "41", "after": ""}
    change |= {"kinds": ["int", ""]}
    was = {"what": "operator", "name": "", "before": "Constant", "after": "Cast"}
    report = {"facts": {"changed": [{"op": "Cast", "changes": [was, change]}]}}
    (row,) = differences.without_weights(report)["facts"]["changed"]
    assert row["changes"] == [was, change | {"before": "(int)"}]
    old = {"op": "Cast", "changes": [{"what": "attribute", "before": "0.5", "after": "0.6"}]}
    (row,) = differences.without_weights({"facts": {"changed": [old]}})["facts"]["changed"]
    assert {row["changes"][0][side] for side in ("before", "after")} == {"(not shown)"}


def test_a_difference_of_unknown_shape_is_no_error():
    for facts in ({}, {"counts": 3, "added": "x", "before": {"cells": 4}, "weights": []}):
        found = worded.read(facts, {"list": "added", "page": "x"}, {})
        assert found["sentence"] == "No nodes differ."
    row = {"op": "Relu", "changes": [{"what": "weight", "name": "w", "norm": None}]}
    found = worded.read({"changed": [row]}, {}, {})
    assert found["lists"][0]["rows"][0]["changes"] == "weights w: values changed"


def test_drawings_are_no_part_of_the_metadata(guest, graph, graphs):
    from metadata.store import maintenance

    told = [guest.get(f"{PAGE}.nt").content]
    maintenance.refresh_version(graph.pk)
    told.append(guest.get(f"{PAGE}.nt").content)
    assert told[0] == told[1]
    assert b"nodes.json" not in told[1]
