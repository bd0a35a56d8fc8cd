"""The tab of ancestors and descendants: what is found, what is hidden, and that circles end."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metadata.graphs import relatives as graph_relatives
from registry.models import Version
from registry.versions.services import names, registered_models, versions
from tests import factories, proven, shared

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/v/1/lineage"


def words(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])))


def side(page, name):
    return page.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]


def tree(relatives):
    return {one.version.ref if one.version else one.named: tree(one.relatives) for one in relatives}


def based(owner, name, on, relation="finetune", **model):
    said = on if isinstance(on, list) else [on]
    card = f"---\nbase_model: {said}\nbase_model_relation: {relation}\n---\n# {name}\n"
    return factories.version(owner, factories.model(owner, name, **model), card=card)


@shared.rows
def start():
    """root <- mid <- net <- quant <- deep, and net <- tuned; variants beside them."""
    ada, bob = factories.somebody("ada"), factories.somebody("bob")
    root = factories.version(bob, factories.model(bob, "root"))
    mid = based(bob, "mid", "bob/root")
    net = based(ada, "net", ["bob/mid@1", "https://example.com/model", "meta/elsewhere"])
    quant = based(bob, "quant", "ada/net@1", "quantized")
    based(bob, "tuned", "http://testserver/models/ada/net/v/1")
    based(bob, "deep", "bob/quant@1", "merge")
    return root, mid, net, quant


@pytest.fixture
def family(start, db):
    return shared.fresh(start)


def test_both_sides_with_their_relations(guest, family):
    proven.upgrade(family[2], b"upgraded")
    page = guest.page(PAGE)
    ancestors, descendants = side(page, "ancestors"), side(page, "descendants")
    assert re.findall(r'<a href="(/models/[^"]+)"', ancestors) == [
        "/models/bob/mid/v/1", "/models/bob/root/v/1",
    ]  # fmt: skip
    said = words(f"<main{ancestors}")
    assert "bob/mid@1 fine-tuned to the model above declared" in said
    assert 'href="https://example.com/model" rel="nofollow noopener ugc"' in ancestors
    assert 'href="https://huggingface.co/meta/elsewhere" rel="nofollow noopener ugc"' in ancestors
    said = words(f"<main{descendants}")
    assert "net@1:opset26 upgraded to opset 26 from default recorded a variant" in said
    assert "bob/quant@1 quantised declared" in said
    assert "bob/deep@1 merged declared" in said
    assert "bob/tuned@1 fine-tuned declared" in said
    assert (
        descendants.index("bob/quant@1")
        < descendants.index("bob/deep@1")
        < descendants.index("bob/tuned@1")
    )
    assert 'class="drawing"' in page
    # The lists are whole without the drawing.
    assert 'aria-hidden="true"' in page.partition('class="drawing"')[2][:200]


def test_a_derived_variant_has_one_word_everywhere(guest, ada, graphs):
    version = factories.version(ada, factories.model(ada, "net"))
    made = proven.convert(version)
    lineage = words(guest.page(PAGE))
    assert "net@1:int8 converted to int8, dynamic from default" in lineage
    provenance = words(guest.page(PAGE.replace("lineage", "provenance")))
    assert "derived the variant int8 from default by conversion to int8, dynamic" in provenance
    assert "converted from default" in words(guest.page(PAGE.replace("lineage", "variants")))
    graph = guest.get("/models/ada/net/v/1.nt").content.decode()
    assert re.search("#generation-int8> <[^>]+#type> <http://testserver/ns#Conversion>", graph)
    assert 'ns#variantOrigin> "converted"' in graph
    answer = guest.get("/api/v1/models/ada/net/versions/1/variants/int8").json()
    assert answer["origin"] == made.origin == "converted"
    for page in (lineage, provenance, graph):
        assert not re.search("quanti[sz]", page, re.IGNORECASE)


def test_hidden_neighbours_are_as_if_they_were_not(guest, reader, ada, bob):
    based(bob, "below", "ada/net@1", visibility="private")
    factories.version(bob, factories.model(bob, "above", visibility="private"))
    version = based(ada, "net", ["bob/above@1", "bob/nothing@1"])
    for actor in (guest, reader):
        page = actor.page(PAGE)
        ancestors = words(f"<main{side(page, 'ancestors')}")
        one, other = ancestors.split("bob/above@1")[1], ancestors.split("bob/nothing@1")[1]
        assert one.split("bob/")[0].strip() == other.strip()
        assert "below@1" not in page
        assert "No models derive from this version" in words(page)
    mine = graph_relatives.descendants(bob, version)
    assert tree(mine.relatives) == {"bob/below@1": {}}
    assert tree(graph_relatives.ancestors(bob, version).relatives) == {
        "bob/above@1": {}, "bob/nothing@1": {},
    }  # fmt: skip


def test_what_became_private_leaves_and_what_was_withdrawn_is_marked(guest, family, bob, ada):
    _, mid, _, quant = family
    versions.withdraw(bob, version=quant, reason="It was wrong.", breaks_dependents=True)
    registered_models.edit(bob, model=mid.model, visibility="private")
    page = guest.page(PAGE)
    assert "quant" in page
    assert "withdrawn" in page
    assert "deep" in page
    assert "/models/bob/mid" not in page
    assert "bob/root" not in page


def test_circles_end(guest, ada, bob):
    one = based(ada, "net", "bob/other@1")
    other = based(bob, "other", "ada/net@1")
    for side_of in (graph_relatives.ancestors, graph_relatives.descendants):
        found = side_of(bob, one)
        assert tree(found.relatives) == {"bob/other@1": {"ada/net@1": {}}}
        assert found.relatives[0].relatives[0].again
        assert not found.cut
    assert "already listed" in words(guest.page(PAGE))
    assert other.number == 1


def test_a_version_that_names_itself_is_no_ancestor_of_itself(guest, ada):
    version = based(ada, "net", ["ada/net@1", "ada/net"])
    assert tree(graph_relatives.descendants(ada, version).relatives) == {}
    page = guest.page(PAGE)
    assert 'href="/models/ada/net/v/1"' not in side(page, "ancestors")


def test_a_name_without_a_number_means_the_newest_before(ada):
    first = factories.version(ada, factories.model(ada, "root"))
    net = based(ada, "net", "ada/root")
    second = factories.version(ada, first.model)
    later = based(ada, "later", "ADA/Root")
    assert tree(graph_relatives.ancestors(ada, net).relatives) == {"ada/root@1": {}}
    assert tree(graph_relatives.ancestors(ada, later).relatives) == {"ada/root@2": {}}
    assert tree(graph_relatives.descendants(ada, first).relatives) == {"ada/net@1": {}}
    assert tree(graph_relatives.descendants(ada, second).relatives) == {"ada/later@1": {}}


def test_a_name_of_another_namespace_means_a_model_once_a_maintainer_confirms_it(ada, bob):
    root = factories.version(bob, factories.model(bob, "root"))
    net = based(ada, "net", "bob/root")
    (one,) = graph_relatives.ancestors(ada, net).relatives
    assert (one.version, one.address) == (None, "")
    assert graph_relatives.descendants(ada, root).relatives == []
    names.confirm(ada, model=net.model, kind="model", name="Bob/Root", target="bob/root")
    assert tree(graph_relatives.ancestors(ada, net).relatives) == {"bob/root@1": {}}
    assert tree(graph_relatives.descendants(ada, root).relatives) == {"ada/net@1": {}}
    # What a name was confirmed to mean goes before the model that has the name.
    other = factories.version(bob, factories.model(bob, "other"))
    names.confirm(ada, model=net.model, kind="model", name="bob/root", target="bob/other")
    assert tree(graph_relatives.ancestors(ada, net).relatives) == {"bob/root": {}}
    # That one came after the version that names it.
    assert other.created_at > net.created_at
    assert graph_relatives.descendants(ada, root).relatives == []


def test_a_confirmed_base_that_a_reader_may_not_see_is_a_name(ada, bob):
    factories.namespace(ada, "lab")
    hidden = factories.model(ada, "secret", slug="lab", visibility="private")
    factories.version(ada, hidden)
    net = based(ada, "net", "lab/secret")
    names.confirm(ada, model=net.model, kind="model", name="lab/secret", target="lab/secret")
    assert tree(graph_relatives.ancestors(ada, net).relatives) == {"lab/secret@1": {}}
    (one,) = graph_relatives.ancestors(bob, net).relatives
    assert (one.version, one.address) == (None, "")


def test_a_moved_model_keeps_its_family(ada):
    root = factories.version(ada, factories.model(ada, "root"))
    net = based(ada, "net", "ada/root")
    registered_models.move(ada, model=root.model, namespace=root.model.namespace, name="moved")
    root = Version.objects.get(pk=root.pk)
    assert tree(graph_relatives.ancestors(ada, net).relatives) == {"ada/moved@1": {}}
    assert tree(graph_relatives.descendants(ada, root).relatives) == {"ada/net@1": {}}


def test_versions_of_one_descendant_are_one_row(guest, ada, bob):
    factories.version(ada, factories.model(ada, "net"))
    quant = based(bob, "quant", "ada/net@1", "quantized")
    card = "---\nbase_model: ada/net@1\n---\n# again\n"
    factories.version(bob, quant.model, card=card)
    said = words(f"<main{side(guest.page(PAGE), 'descendants')}")
    assert "bob/quant@2" in said
    assert "and 1 earlier version" in said
    assert "bob/quant@1" not in said


def test_depth_and_count_are_bounded_with_words_and_few_questions(guest, ada, bob, monkeypatch):
    before = "none/none"
    for index in range(9):
        before = based(bob, f"link-{index}", before).ref
    net = based(ada, "net", before)
    for index in range(9):
        before = based(bob, f"child-{index}", before if index else net.ref).ref
    with CaptureQueriesContext(connection) as asked:
        page = guest.page(PAGE)
    assert "truncated after 6 levels" in words(side_words(page, "ancestors"))
    assert "truncated after 4 levels" in words(side_words(page, "descendants"))
    assert "link-3@1" in page
    assert "link-2@1" not in page
    assert "child-3@1" in page
    assert "child-4@1" not in page
    assert len(asked) <= 60
    for index in range(6):
        based(bob, f"wide-{index}", net.ref)
    with CaptureQueriesContext(connection) as wider:
        guest.page(PAGE)
    assert len(wider) == len(asked)
    monkeypatch.setattr(graph_relatives, "MOST", 3)
    assert graph_relatives.descendants(bob, net).cut


def side_words(page, name):
    return f"<main{side(page, name)}"


def test_drafts_have_ancestors_and_no_descendants(reader, guest, ada, bob):
    factories.version(bob, factories.model(bob, "root"))
    factories.draft(ada, card="---\nbase_model: bob/root@1\n---\n# x\n")
    page = reader.page(PAGE)
    assert "bob/root@1" in side(page, "ancestors")
    assert guest.get(PAGE).status_code == 404
