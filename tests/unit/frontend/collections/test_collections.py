"""The pages of collections: what readers see, forms without scripts, feed and sitemap."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from registry.community.collections import selectors, services
from registry.models import Collection, CollectionEntry, Membership, RegisteredModel
from tests import factories, timed
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
PAGE, ACT = "/collections/lab/small", "/collections/lab/small/act"


@rows
def start():
    """Ada's public models a and b and her private one; Bob, a writer of the organisation lab."""
    ada, bob = factories.user("ada"), factories.user("bob")
    lab = factories.namespace(ada)
    Membership.objects.create(namespace=lab, user=bob, role="writer")
    a, b = (factories.model(ada, name) for name in "ab")
    timed.benchmark(factories.version(ada, a), 1.0)
    factories.version(ada, b)
    secret = factories.model(ada, "secret", visibility="private")
    collection = services.create(ada, namespace=lab, slug="small", title="Small <models>")
    services.add(ada, collection=collection, model=b, note="Best & smallest")
    services.add(ada, collection=collection, model=secret, note="Unreleased")
    services.add(ada, collection=collection, model=a)
    return ada, bob, collection


@pytest.fixture
def hub(start):
    return fresh(start)


def signed_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def text(answer):
    assert answer.status_code == 200, answer
    return html.unescape(answer.content.decode())


def order(page):
    return re.findall(r'href="/models/ada/(\w+)">', page)


def names(actor, collection):
    return [entry.model.name for entry in selectors.entries(actor, collection)]


@pytest.mark.usefixtures("lists")
def test_a_collection_shows_its_models_as_the_list_does_with_their_notes(hub, graphs):
    page = Client().get(PAGE)
    assert b"Small &lt;models&gt;" in page.content
    shown = text(page)
    assert shown.index("<b>b</b>") < shown.index("<b>a</b>")
    shown = " ".join(shown.split())
    for words in (
        "2 models",
        "Best & smallest",
        "12 params",
        "opset 17",
        " B<",
        "p50 measured on",
        "0.999 ms",
    ):
        assert words in shown, words
    assert "secret" not in shown
    assert "Unreleased" not in shown
    assert "Edit</a>" not in shown
    for member in hub[:1]:
        shown = text(signed_in(member).get(PAGE))
        assert "3 models" in shown
        assert "Unreleased" in shown
        assert "Edit</a>" in shown


def test_lists_count_what_the_reader_sees(hub):
    for reader, count in ((Client(), 2), (signed_in(hub[1]), 2), (signed_in(hub[0]), 3)):
        shown = text(reader.get("/collections"))
        assert f'<td class="num">{count}</td>' in shown
    assert "Small <models>" in text(Client().get("/collections?namespace=lab"))
    assert "Small <models>" in text(Client().get("/collections?model=ada/a"))
    assert Client().get("/collections?model=ada/secret").status_code == 404
    assert "No collections here yet" in text(Client().get("/collections?namespace=ada"))


def test_the_page_of_a_model_names_its_collections_and_offers_others(hub, graphs, lists):
    ada, bob, collection = hub
    other = services.create(bob, namespace=collection.namespace, slug="fast", title="Fast")
    page = text(Client().get("/models/ada/a"))
    assert "In 1 collection<" in page
    assert "Collect<" not in page
    browser = signed_in(bob)
    page = text(browser.get("/models/ada/a"))
    assert "Add to Fast" in page
    assert "Add to Small" not in page
    shown = text(browser.post("/models/ada/a/collect", {"collection": "lab/fast"}, follow=True))
    assert "ada/a is now in Fast." in shown
    assert "In 2 collections" in shown
    assert names(bob, other) == ["a"]
    again = browser.post("/models/ada/a/collect", {"collection": "lab/fast"}, follow=True)
    assert "already contains ada/a" in text(again)
    services.edit(bob, collection=other, visibility="private")
    assert "In 1 collection<" in text(Client().get("/models/ada/a"))
    carl = signed_in(factories.user("carl"))
    answer = carl.post("/models/ada/a/collect", {"collection": "lab/small"})
    assert answer.status_code == 403
    assert browser.post("/models/ada/secret/collect", {"collection": "lab/fast"}).status_code == 404
    assert Client().post("/models/ada/a/collect", {"collection": "lab/fast"}).status_code == 302
    assert names(ada, collection) == ["b", "secret", "a"]


def test_a_collection_is_created_from_the_page_of_a_model(hub):
    _, bob, _ = hub
    fields = {"namespace": "lab", "slug": "quick", "title": "Quick", "visibility": "private"}
    answer = signed_in(bob).post("/collections/new?model=ada/a", fields)
    assert (answer.status_code, answer["Location"]) == (302, "/collections/lab/quick")
    made = Collection.objects.get(slug="quick")
    assert (made.title, made.visibility, names(bob, made)) == ("Quick", "private", ["a"])
    again = signed_in(bob).post("/collections/new", fields)
    assert again.status_code == 422
    assert "lab/quick already exists" in html.unescape(again.content.decode())
    assert Client().get("/collections/new").status_code == 302


def test_forms_change_notes_order_and_models(hub):
    ada, bob, collection = hub
    browser = signed_in(bob)

    def act(action, model, **fields):
        answer = browser.post(ACT, {"action": action, "model": model, **fields}, follow=True)
        return text(answer)

    shown = text(browser.get(f"{PAGE}/edit"))
    assert "1 model in this collection is not available to you" in shown
    assert "secret" not in shown
    assert 'value="Saved & sound"' in act("note", "ada/b", note="Saved & sound")
    act("up", "ada/a")
    assert names(ada, collection) == ["a", "secret", "b"]
    act("up", "ada/a")
    assert names(ada, collection) == ["a", "secret", "b"]
    act("down", "ada/a")
    assert names(ada, collection) == ["b", "secret", "a"]
    act("first", "ada/a")
    assert names(bob, collection) == ["a", "b"]
    act("remove", "ada/b")
    assert names(ada, collection) == ["a", "secret"]
    assert "already contains ada/a" in act("add", "ada/a")
    assert "not found" in act("add", "ada/secret")
    assert "is not a reference" in act("add", "a b")
    act("add", "ada/b", note="Back")
    assert names(bob, collection) == ["a", "b"]
    assert browser.post(ACT, {"action": "praise", "model": "ada/a"}).status_code == 400
    browser.post(f"{PAGE}/unavailable")
    assert names(ada, collection) == ["a", "b"]


def test_only_writers_have_the_forms_and_maintainers_delete(hub):
    ada, bob, collection = hub
    before = list(CollectionEntry.objects.values())
    carl = factories.user("carl")
    posts = [
        (f"{PAGE}/edit", {"title": "Changed", "visibility": "public"}),
        (ACT, {"action": "remove", "model": "ada/a"}),
        (f"{PAGE}/unavailable", {}),
        (f"{PAGE}/delete", {}),
    ]
    for path, fields in posts:
        assert Client().post(path, fields).status_code == 302
        assert signed_in(carl).post(path, fields).status_code == 403
    assert signed_in(bob).post(f"{PAGE}/delete").status_code == 403
    assert signed_in(carl).get(f"{PAGE}/edit").status_code == 403
    assert "Delete this collection" not in text(signed_in(bob).get(f"{PAGE}/edit"))
    assert (fresh(collection).title, list(CollectionEntry.objects.values())) == (
        "Small <models>", before,
    )  # fmt: skip
    edited = signed_in(bob).post(f"{PAGE}/edit", posts[0][1])
    assert (edited.status_code, edited["Location"]) == (302, PAGE)
    assert fresh(collection).title == "Changed"
    answer = signed_in(ada).post(f"{PAGE}/delete", follow=True)
    assert "The collection lab/small is deleted." in text(answer)
    assert not Collection.objects.exists()
    assert RegisteredModel.objects.filter(deleted_at=None).count() == 3


@pytest.mark.usefixtures("lists")
def test_a_private_collection_has_no_page_no_feed_and_no_place_in_lists(hub, graphs):
    ada, bob, collection = hub
    services.edit(ada, collection=collection, visibility="private")
    for reader in (Client(), signed_in(factories.user("carl"))):
        for path in (PAGE, f"{PAGE}.atom"):
            assert reader.get(path).status_code == 404
        assert "Small" not in text(reader.get("/collections"))
        assert "In 1 collection" not in text(reader.get("/models/ada/a"))
        assert "collections" not in text(reader.get("/sitemap.xml"))
        assert reader.get("/sitemap-collections.xml").status_code == 404
    assert "private" in text(signed_in(bob).get(PAGE))


@pytest.mark.usefixtures("lists")
def test_the_feed_has_the_models_that_were_added_last(hub, settings):
    answer = Client().get(f"{PAGE}.atom")
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = answer.content.decode()
    assert re.findall(r"<title>(.*?)</title>", feed) == ["Small &lt;models&gt;", "ada/a", "ada/b"]
    assert "Best &amp; smallest" in feed
    assert f"{settings.HUB_PUBLIC_URL}/collections/lab/small#ada/b" in feed
    assert "secret" not in feed
    assert "Unreleased" not in feed
    assert f'href="{PAGE}.atom"' in Client().get(PAGE).content.decode()


@pytest.mark.usefixtures("lists")
def test_public_collections_are_in_the_sitemap(hub, settings):
    _, _, collection = hub
    place = f"{settings.HUB_PUBLIC_URL}/sitemap-collections.xml"
    assert f"<loc>{place}</loc>" in text(Client().get("/sitemap.xml"))
    changed = f"{collection.updated_at:%Y-%m-%dT%H:%M:%SZ}"
    assert f"<loc>{settings.HUB_PUBLIC_URL}{PAGE}</loc><lastmod>{changed}</lastmod>" in text(
        Client().get("/sitemap-collections.xml")
    )


def test_members_find_collections_on_the_page_of_their_namespace(hub):
    _, bob, _ = hub
    assert f'href="{PAGE}">Small <models></a>' in text(
        signed_in(bob).get("/account/namespaces/lab")
    )


def test_another_spelling_leads_to_the_collection(hub):
    answer = Client().get("/collections/LAB/Small")
    assert (answer.status_code, answer["Location"]) == (302, PAGE)


def test_long_lists_have_pages(hub):
    _, _, collection = hub
    Collection.objects.bulk_create(
        Collection(namespace=collection.namespace, slug=f"c{number}", title=f"C{number}")
        for number in range(50)
    )
    first = text(Client().get("/collections?namespace=lab"))
    assert "Small <models>" not in first
    following = re.search(r'rel="next" href="([^"]+)"', first)[1]
    assert "namespace=lab" in following
    last = text(Client().get(following))
    assert "Small <models>" in last
    assert 'rel="first"' in last
    assert 'rel="next"' not in last
