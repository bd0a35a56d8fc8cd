"""Linked data over HTTP: what Accept asks for, typed links, and the hub's other IRIs."""

from __future__ import annotations

import io
import json
import re

import pyoxigraph
import pytest
from django.test import Client

from metadata import exports
from metadata.exports import annotated_files, signposting
from metadata.store import catalogue, maintenance, negotiation
from registry.core import outbox
from registry.models import File
from registry.versions.services import derivatives, versions
from runners.engine.reports import OutputFile
from runners.models import Job
from runners.queue import services as runners
from tests import factories, samples, shared, timed

pytestmark = pytest.mark.usefixtures("graphs")
PAGE = "/models/ada/net/v/1"
HOME = "http://testserver"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
NQUADS = pyoxigraph.RdfFormat.N_QUADS


@shared.rows
def start():
    version = factories.published(factories.somebody("ada"))
    maintenance.refresh_catalogue()
    outbox.deliver()
    return version


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def ask(client, path, accept, **more):
    return client.get(path, headers={"Accept": accept, **more})


@pytest.mark.parametrize(
    ("accept", "ending"),
    [
        ("", ""),
        ("*/*", ""),
        (BROWSER, ""),
        ("text/turtle", "ttl"),
        ("text/turtle, */*;q=0.1", "ttl"),
        ("text/turtle, */*", "ttl"),
        ("text/html;q=0.5, application/ld+json;q=0.7", "jsonld"),
        ("text/html, text/turtle", ""),
        ("application/rdf+xml, text/turtle;q=0.9", "rdf"),
        ("application/*;q=0.2, text/*;q=0", "nt"),
        ("APPLICATION/N-Triples", "nt"),
        ("text/*", ""),
        ("text/html;q=0, */*", "ttl"),
        ("text/turtle;q=0", None),
        ("application/json", None),
        ("image/png", None),
        ("text/turtle;q=high, text/html;q=0.1", ""),
    ],
)
def test_what_accept_asks_for(accept, ending):
    assert negotiation.ending_for(accept) == ending


@pytest.mark.parametrize("path", [PAGE, "/models/ada/net"])
def test_one_address_in_every_format(published, client, path):
    tags = set()
    for ending, found in negotiation.FORMATS.items():
        answer = ask(client, path, found.media_type)
        assert answer["Content-Type"] == found.media_type
        assert answer["Content-Location"] == f"{path}.{ending}"
        assert "Accept" in answer["Vary"]
        assert answer.content == client.get(f"{path}.{ending}").content
        assert f'<{HOME}{path}>; rel="describes"' in answer["Link"]
        tags.add(answer["ETag"])
        again = ask(client, path, found.media_type, **{"If-None-Match": answer["ETag"]})
        assert (again.status_code, again["ETag"]) == (304, answer["ETag"])
    page = ask(client, path, BROWSER)
    assert page["Content-Type"].startswith("text/html")
    assert "Accept" in page["Vary"]
    assert len(tags | {page["ETag"]}) == len(negotiation.FORMATS) + 1


def test_a_tag_of_one_format_is_none_of_another(published, client):
    tag = ask(client, PAGE, "text/turtle")["ETag"]
    for other in ("application/ld+json", BROWSER):
        assert ask(client, PAGE, other, **{"If-None-Match": tag}).status_code == 200


def test_a_head_says_what_a_get_would(published, client):
    for accept in ("text/turtle", BROWSER):
        got = ask(client, PAGE, accept)
        head = client.head(PAGE, headers={"Accept": accept})
        assert head["ETag"] == got["ETag"]
        assert head.content == b""
        same = client.head(PAGE, headers={"Accept": accept, "If-None-Match": got["ETag"]})
        assert same.status_code == 304


def test_nothing_that_fits_is_told(published, client):
    answer = ask(client, PAGE, "image/png")
    assert answer.status_code == 406
    told = answer.json()
    assert told["type"].endswith("/not-acceptable")
    assert "text/turtle" in told["detail"]


def links(value):
    return re.findall(r'<([^>]+)>; rel="([^"]+)"', value)


def test_a_version_shows_the_way(published, client):
    found = links(ask(client, PAGE, BROWSER)["Link"])
    iri = f"{HOME}{PAGE}"
    for target, relation in (
        (iri, "cite-as"),
        ("https://schema.org/AboutPage", "type"),
        (f"{HOME}/agents/ada", "author"),
        ("http://spdx.org/licenses/Apache-2.0", "license"),
        (f"{iri}.ttl", "describedby"),
        (f"{iri}.jsonld", "describedby"),
        (f"{iri}/export/cyclonedx.json", "describedby"),
        (f"{iri}/files/model.onnx", "item"),
        (f"{iri}/linkset", "linkset"),
    ):
        assert (target, relation) in found
    file = client.get(f"{PAGE}/files/model.onnx")
    assert (iri, "collection") in links(file["Link"])
    b"".join(file)


def test_the_linkset_has_all_links(published, client):
    answer = client.get(f"{PAGE}/linkset")
    assert answer["Content-Type"] == "application/linkset+json"
    contexts = {one["anchor"]: one for one in answer.json()["linkset"]}
    iri = f"{HOME}{PAGE}"
    assert contexts[iri]["cite-as"] == [{"href": iri}]
    assert contexts[f"{iri}/files/model.onnx"]["collection"][0]["href"] == iri
    assert contexts[f"{iri}.ttl"]["describes"][0]["href"] == iri
    model = {one["anchor"]: one for one in client.get("/models/ada/net/linkset").json()["linkset"]}
    assert model[f"{HOME}/models/ada/net"]["latest-version"][0]["href"] == iri


def test_a_model_has_its_own_links(published, client):
    found = links(ask(client, "/models/ada/net", BROWSER)["Link"])
    assert (f"{HOME}/models/ada/net", "cite-as") in found
    assert (f"{HOME}{PAGE}", "latest-version") in found
    assert (f"{HOME}{PAGE}", "cite-as") not in found


def test_a_long_head_is_cut_and_leads_to_the_linkset():
    page = "https://hub.example/models/lab/net/v/1"
    made = [signposting.Link(page, "cite-as", page)]
    made += [signposting.Link(page, "author", f"{page}#a{n}") for n in range(12)]
    made += [signposting.Link(page, "item", f"{page}/files/{n}") for n in range(500)]
    made += [signposting._linkset(page)]
    told = signposting.header(made, page)
    found = [relation for _, relation in links(told)]
    assert found.count("author") == 10
    assert found.count("item") == signposting.ITEMS
    assert {"cite-as", "linkset"} <= set(found)
    assert len(told) <= signposting.HEADER_BYTES
    assert len(json.loads(signposting.linkset(made))["linkset"][0]["item"]) == 500


def test_private_things_lead_nowhere_for_guests(ada, bob, client):
    factories.published(ada, factories.model(ada, visibility="private"))
    outbox.deliver()
    other = Client()
    other.force_login(bob)
    for reader in (client, other):
        for path in (
            PAGE,
            f"{PAGE}/linkset",
            f"{PAGE}/export/spdx.json",
            "/models/ada/net",
            "/models/ada/net/linkset",
            "/agents/ada",
            "/agents/ada.ttl",
        ):
            answer = ask(reader, path, "text/turtle, */*;q=0.1")
            assert answer.status_code == 404, path
            assert "Link" not in answer
    assert "ada/net" not in client.get("/catalog.ttl").content.decode()
    assert "ada/net" not in client.get("/.well-known/void").content.decode()


def test_a_withdrawn_version_has_a_page_and_no_graph(ada, published, client):
    versions.withdraw(ada, version=published, reason="Wrong data.")
    outbox.deliver()
    assert ask(client, PAGE, "text/turtle").status_code == 410
    assert client.get(f"{PAGE}/linkset").status_code == 410
    page = ask(client, PAGE, BROWSER)
    assert "Link" not in page
    assert "application/ld+json" not in page.content.decode()


def test_a_page_tells_search_engines(published, client):
    page = ask(client, PAGE, BROWSER).content.decode()
    [block] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    told = json.loads(block)
    assert told["@id"] == f"{HOME}{PAGE}"
    assert told == client.get(f"{PAGE}/export/schema.json").json()


@pytest.mark.parametrize("filename", ["README.md", "spdx.json", "cyclonedx.json", "schema.json"])
def test_exports_are_linked_and_there(published, client, filename):
    assert f'href="{PAGE}/export/{filename}"' in ask(client, PAGE, BROWSER).content.decode()
    assert client.get(f"{PAGE}/export/{filename}").status_code == 200


def test_an_unknown_export_names_those_there_are(published, client):
    answer = client.get(f"{PAGE}/export/word.docx")
    assert answer.status_code == 404
    assert "spdx.json" in answer.json()["detail"]


THINGS = [
    "/agents/ada",
    "/agents/worker",
    "/tasks/image-classification",
    "/tests/onnx",
    "/tests/onnxruntime/reference",
    "/formats/onnx",
    "/metrics/accuracy",
    "/ops/my.domain/Odd",
]


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("path", THINGS)
def test_the_hubs_own_iris_lead_somewhere(published, client, path):
    page = ask(client, path, BROWSER)
    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    for answer in (client.get(f"{path}.nt"), ask(client, path, "application/n-triples")):
        assert answer.status_code == 200
        assert f"<{HOME}{path}> ".encode() in answer.content


@pytest.mark.usefixtures("lists")
def test_a_licence_that_spdx_lacks_has_a_page(ada, client):
    card = factories.CARD.replace("apache-2.0", "openrail")
    factories.published(ada, card=card)
    outbox.deliver()
    assert client.get("/licences/openrail.ttl").status_code == 200
    assert client.get("/licences/nobody-has-this").status_code == 404


@pytest.mark.usefixtures("lists")
def test_every_iri_of_the_hub_in_a_graph_leads_somewhere(published, client):
    content = (
        client.get(f"{PAGE}.nt").content.decode()
        + client.get("/models/ada/net.nt").content.decode()
    )
    found = {iri.partition("#")[0] for iri in re.findall(rf"<({HOME}/[^>]+)>", content)}
    assert len(found) > 5
    for iri in sorted(found):
        answer = client.get(iri.removeprefix(HOME), headers={"Accept": "*/*"})
        assert answer.status_code == 200, iri
        answer.close()


@pytest.fixture
def timed_result(published):
    """A result of the version, with its device and its job."""
    return timed.benchmark(published, 1.5)


@pytest.mark.usefixtures("timed_result")
def test_every_iri_of_the_hub_in_a_graph_has_statements(published, client):
    content = client.get(f"{PAGE}.nt").content.decode()
    mentioned = {iri.partition("#")[0] for iri in re.findall(rf"<({HOME}/[^>]+)>", content)}
    things = {iri for iri in mentioned if not iri.startswith(f"{HOME}{PAGE}/files/")}
    assert {iri.removeprefix(f"{HOME}/").partition("/")[0] for iri in things} >= {
        "agents", "devices", "environments", "formats", "jobs", "models", "tasks",
    }  # fmt: skip
    for iri in sorted(things):
        answer = ask(client, iri.removeprefix(HOME), "application/n-triples")
        assert answer["Content-Type"] == "application/n-triples", iri
        assert f"<{iri}> ".encode() in answer.content, iri


def test_a_device_and_a_job_have_their_facts_in_every_format(timed_result, client):
    row = timed_result
    for path in (f"/devices/{row.device}", f"/jobs/{row.job_id}"):
        page = ask(client, path, BROWSER)
        assert page["Content-Type"].startswith("text/html")
        assert "Accept" in page["Vary"]
        for ending, form in negotiation.FORMATS.items():
            answer = ask(client, path, form.media_type.partition(";")[0])
            assert answer["Content-Type"] == form.media_type
            assert answer["Content-Location"] == f"{path}.{ending}"
            assert client.get(f"{path}.{ending}").content == answer.content
        assert ask(client, path, "image/png").status_code == 406
    device = client.get(f"/devices/{row.device}.nt").content.decode()
    assert f'/title> "{row.device_title}" ' in device
    result = f"<{HOME}{PAGE}#bench-{row.pk}"
    assert f"{result}> <{HOME}/ns#device> <{HOME}/devices/{row.device}> " in device
    job = client.get(f"/jobs/{row.job_id}.nt").content.decode()
    assert f"<{HOME}/jobs/{row.job_id}> <http://www.w3.org/ns/prov#used> <{HOME}{PAGE}> " in job
    assert f"{result}-run> <http://www.w3.org/ns/prov#startedAtTime> " in job
    for hidden in (row.job.worker, row.job.host):
        assert not hidden or hidden not in job


def test_devices_and_jobs_of_private_models_are_missing_to_others(ada, bob, client):
    private = factories.published(ada, factories.model(ada, visibility="private"))
    row = timed.benchmark(private, 1.5)
    other, owner = Client(), Client()
    other.force_login(bob)
    owner.force_login(ada)
    for path in (f"/devices/{row.device}", f"/jobs/{row.job_id}"):
        for reader, status in ((client, 404), (other, 404), (owner, 200)):
            assert ask(reader, path, "text/turtle").status_code == status
            assert reader.get(f"{path}.ttl").status_code == status


def test_a_job_of_a_withdrawn_version_has_no_steps(timed_result, published, ada, client):
    versions.withdraw(ada, version=published, reason="Wrong data.")
    outbox.deliver()
    answer = client.get(f"/jobs/{timed_result.job_id}.nt")
    page = ask(client, f"/jobs/{timed_result.job_id}", BROWSER)
    assert answer.status_code == page.status_code
    assert b"#bench-" not in answer.content


def test_terms_are_found_by_their_fragment(published, client):
    page = ask(client, "/ns", BROWSER).content.decode()
    graph = client.get(f"{PAGE}.nt").content.decode()
    used = set(re.findall(rf"<{HOME}/ns#([^>]+)>", graph))
    assert "opsetVersion" in used
    assert {name for name in used if f'id="{name}"' not in page} == set()
    for path in ("/ns.ttl", "/ns/shapes.ttl"):
        assert client.get(path)["Content-Type"].startswith("text/turtle")
        assert b"hub.invalid" not in client.get(path).content


def pages_of(client, path):
    while path:
        answer = client.get(path)
        assert answer.status_code == 200
        yield answer
        following = re.search(r'<[^>]*?(/catalog[^>]*)>; rel="next"', answer.get("Link", ""))
        path = following[1] if following else ""


@pytest.mark.parametrize("path", ["/catalog.nt", "/catalog.nt?profile=dcat-ap"])
def test_the_catalogue_comes_in_pages(ada, client, monkeypatch, path):
    monkeypatch.setattr(catalogue, "PAGE", 2)
    for name in "abc":
        factories.published(ada, factories.model(ada, name))
    maintenance.refresh_catalogue()
    outbox.deliver()
    found = [answer.content.decode() for answer in pages_of(client, path)]
    assert len(found) == 2
    for name, page in (("a", 0), ("b", 0), ("c", 1)):
        member = f"<{HOME}/catalog> <http://www.w3.org/ns/dcat#resource> <{HOME}/models/ada/{name}>"
        assert [member in one for one in found] == [page == 0, page == 1]
        typed = f"<{HOME}/models/ada/{name}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
        dataset = f"{typed}<http://www.w3.org/ns/dcat#Dataset>"
        assert (dataset in found[page]) == path.endswith("dcat-ap")
    if path.endswith("dcat-ap"):
        assert (
            f"{PAGE.replace('net', 'a')}/files/model.onnx> <http://www.w3.org/ns/dcat#byte"
            in (found[0])
        )
        # Every distribution has its type, without which harvesters take it for none.
        has, isa = "<http://www.w3.org/ns/dcat#distribution>", "22-rdf-syntax-ns#type>"
        files = {line.split(" ")[2] for line in found[0].splitlines() if has in line}
        for file in files:
            assert (
                f"{file} <http://www.w3.org/1999/02/{isa} <http://www.w3.org/ns/dcat#Distribution>"
                in found[0]
            )


def test_the_catalogue_refuses_what_it_does_not_know(published, client):
    assert client.get("/catalog.ttl?profile=other").status_code == 400
    assert client.get("/catalog.ttl?after=../etc").status_code == 400


def test_the_catalogue_and_void_name_the_dump(published, client):
    from metadata.store import dump

    made = dump.make()
    told = client.get("/catalog.nt").content.decode()
    assert f"<{HOME}/catalog.nq.gz>" in told
    assert made.sha256 in told
    void = client.get("/.well-known/void")
    assert void["Content-Type"].startswith("text/turtle")
    assert (
        f'triples> "{made.quads}"'
        in client.get(
            "/.well-known/void", headers={"Accept": "application/n-triples"}
        ).content.decode()
    )


def annotated(version, content=b"annotated"):
    """Do the waiting job as a worker would."""
    job = runners.claim("test", Job.Pool.values)
    assert job.kind == "annotate"
    sha256, size = derivatives.store_bytes(io.BytesIO(content))
    found = factories.report("annotate", facts={"keys": sorted(job.input["props"])})
    found.outputs.append(OutputFile("model.with-metadata.onnx", sha256, size))
    runners.finish(job, found)
    outbox.deliver()
    return job


def test_a_copy_with_metadata_is_made_once(published, reader, bob, guest):
    page = guest.page(f"{PAGE}/variants")
    assert "Sign in to create this file" in page
    other = Client()
    other.force_login(bob)
    first = other.post(f"{PAGE}/variants/annotate", {"variant": "default"})
    job = Job.objects.get(kind="annotate")
    assert first["Location"] == f"/jobs/{job.pk}"
    props = job.input["props"]
    assert props["hub_iri"] == f"{HOME}{PAGE}"
    assert props["model_license"] == "Apache-2.0"
    before = list(File.objects.filter(version=published, derived=False).values_list("blob"))
    for waiting in Job.objects.filter(state="queued").exclude(pk=job.pk):
        waiting.delete()
    annotated(published)
    again = other.post(f"{PAGE}/variants/annotate", {"variant": "default"})
    assert again["Location"] == first["Location"]
    file = File.objects.get(version=published, path="model.with-metadata.onnx")
    assert file.derived
    assert published.variants.filter(entry=file).count() == 0
    assert list(File.objects.filter(version=published, derived=False).values_list("blob")) == before
    assert f'href="{PAGE}/files/{file.path}"' in guest.page(f"{PAGE}/variants")
    graph = guest.get(f"{PAGE}.nt").content.decode()
    source = f"<{HOME}{PAGE}/files/model.onnx>"
    derived = f"<{HOME}{PAGE}/files/model.with-metadata.onnx>"
    assert f"{derived} <http://www.w3.org/ns/prov#wasDerivedFrom> {source}" in graph


def test_the_copy_over_the_api(published, api, ada, bob):
    path = "models/ada/net/versions/1/variants/default/with-metadata"
    assert api().get(path).status_code == 404
    assert api().post(path).status_code == 401
    asked = api(bob).post(path)
    assert (asked.status_code, asked.json()["kind"]) == (202, "annotate")
    for waiting in Job.objects.filter(state="queued").exclude(kind="annotate"):
        waiting.delete()
    annotated(published)
    ready = api(bob).post(path)
    assert (ready.status_code, ready.json()["made_from"]) == (200, "model.onnx")
    assert api().get(path).json() == ready.json()


def test_a_draft_has_no_copy(ada, api):
    factories.draft(ada, contents={"model.onnx": samples.mlp()})
    answer = api(ada).post("models/ada/net/versions/1/variants/default/with-metadata")
    assert answer.status_code in (404, 409)
    assert not Job.objects.filter(kind="annotate").exists()


def test_an_author_in_the_file_is_kept(published):
    variant = published.variants.first()
    variant.facts = {**variant.facts, "metadata": {"model_author": "Grace"}}
    variant.save()
    props = annotated_files._properties(exports.read(published), variant)
    assert props["model_author"] == "Grace"


@pytest.mark.usefixtures("lists")
def test_the_profile_of_a_namespace_shows_what_is_public(ada, published, client):
    factories.published(ada, factories.model(ada, "hidden", visibility="private"))
    factories.dataset(ada, "stones", title="Many stones")
    outbox.deliver()
    page = client.get("/agents/ada", headers={"Accept": "text/html"}).content.decode()
    assert f'href="/models/{published.model.ref}"' in page
    assert "1 public model" in page
    assert ">hidden<" not in page
    assert "Many stones" in page
