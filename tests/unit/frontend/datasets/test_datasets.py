"""The pages of data sets: list, one of them, and the form."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from frontend.parts.formatting import grouped, size
from registry.datasets import previews, services
from registry.models import Blob, Dataset, DatasetVersion
from registry.storage.files import store
from tests import factories

CARD = "---\ndatasets: [stones]\n---\n# A model\n"
FORM = {
    "namespace": "ada",
    "slug": "faces",
    "title": "Faces",
    "iri": "doi:10.1234/faces",
    "personal_data": "yes",
    "categories": ["Picture", "Biometric"],
    "legal_basis": "Consent",
    "rows": "12",
    "collected_on": "2025-11-30",
}


def test_the_list_counts_what_the_reader_may_see(ada, guest, reader):
    factories.dataset(ada, "stones", title="Many stones")
    factories.version(ada, card=CARD)
    private = factories.model(ada, "hidden", visibility="private")
    factories.version(ada, private, card=CARD)
    shown = guest.page("/datasets?q=many")
    assert "Many stones" in shown
    assert '<td class="num">1</td></tr>' in shown
    assert '<td class="num">2</td></tr>' in reader.page("/datasets")
    assert "No data sets match this search." in guest.page("/datasets?q=pebbles")


def test_the_list_takes_few_queries(ada, guest, django_assert_max_num_queries):
    for index in range(6):
        factories.dataset(ada, f"set-{index}")
    with django_assert_max_num_queries(4):
        guest.page("/datasets")


def test_one_page_links_the_models_and_they_link_it(ada, guest, graphs):
    factories.dataset(ada, "stones", description="Pictures of stones.")
    factories.version(ada, card=CARD)
    page = guest.page("/datasets/stones")
    assert 'href="/models/ada/net/v/1"' in page
    assert "Pictures of stones." in page
    assert "/datasets/stones/edit" not in page
    assert 'href="/datasets/stones"' in guest.page("/models/ada/net/v/1")
    assert guest.get("/datasets/STONES").status_code == 302
    guest.page("/datasets/none", 404)


def test_a_data_set_is_described_and_edited_in_forms(guest, reader):
    assert guest.get("/datasets/new").status_code == 302
    assert "Register data set" in reader.page("/datasets/new")
    answer = reader.post("/datasets/new", FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/datasets/faces")
    made = Dataset.objects.get()
    assert (made.iri, made.rows) == ("https://doi.org/10.1234/faces", 12)
    assert made.categories == ["Picture", "Biometric"]
    page = reader.page("/datasets/faces")
    assert "pictures, biometric" in page
    assert "consent" in page
    assert 'value="2025-11-30"' in reader.page("/datasets/faces/edit")
    reader.post("/datasets/faces/edit", {"title": "Faces", "personal_data": "no"})
    made.refresh_from_db()
    assert (made.personal_data, made.categories, made.iri) == ("no", [], "")


def test_a_refused_form_says_why_and_makes_nothing(reader):
    for changed, said in (
        ({"slug": "Faces!"}, "cannot be used"),
        ({"personal_data": "no"}, "require personal data"),
        ({"iri": "not one"}, "must be a web address"),
        ({"namespace": "zoo"}, "not one of the available choices"),
    ):
        answer = reader.post("/datasets/new", FORM | changed)
        assert answer.status_code == 422
        assert said in answer.content.decode()
    assert not Dataset.objects.exists()


def test_strangers_may_not_edit(ada, bob):
    factories.dataset(ada, "stones")
    other = Client()
    other.force_login(bob)
    for path in ("edit", "withdraw", "restore"):
        assert other.post(f"/datasets/stones/{path}", {"reason": "x"}).status_code == 403
    assert Dataset.objects.get().withdrawn_at is None


def test_what_was_written_stays_text(ada, guest):
    factories.dataset(ada, "odd", title="<script>alert(1)</script>", description="<b>bold</b>")
    for path in ("/datasets", "/datasets/odd"):
        page = guest.page(path)
        assert "<script>alert" not in page
        assert "<b>bold" not in page


def test_a_withdrawn_entry_says_so(ada, guest, reader):
    factories.dataset(ada, "stones")
    reader.post("/datasets/stones/withdraw", {"reason": "Not ours."})
    page = guest.page("/datasets/stones", status=410)
    assert "This entry was withdrawn." in page
    assert "Not ours." in page
    assert ".ttl" not in page
    assert "stones" not in guest.page("/datasets")
    reader.post("/datasets/stones/restore")
    assert "withdrawn" not in guest.page("/datasets/stones")


SPLIT = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["test.csv"],
    "inputs": [{"name": "features", "columns": ["weight", "<b>"]}],
    "target": {"column": "kind", "labels": ["basalt", "granite"]},
}


def test_a_page_shows_the_newest_version_and_links_the_others(ada, guest):
    stones = factories.dataset(ada, "stones")
    factories.dataset_version(ada, stones, {"old & new.csv": b"weight\n"}, message="Bare rows")
    factories.dataset_version(ada, stones, {"test.csv": b"weight,kind\n"}, splits=[SPLIT])
    page = guest.page("/datasets/stones")
    assert 'href="/api/v1/datasets/stones/versions/2/files/test.csv" download' in page
    assert 'href="/datasets/stones/v1"' in page
    for words in ("Split test", "CSV table", "features", "&lt;b&gt;", "basalt, granite", size(12)):
        assert words in page, words
    first = guest.page("/datasets/stones/v1")
    assert 'href="/api/v1/datasets/stones/versions/1/files/old%20%26%20new.csv" download' in first
    assert "declares no splits" in first
    assert "Bare rows" in first
    guest.page("/datasets/stones/v3", 404)
    assert guest.get("/datasets/STONES/v1")["Location"] == "/datasets/stones/v1"


def test_a_page_without_versions_tells_its_writers_how_to_publish(ada, guest, reader):
    factories.dataset(ada, "stones")
    assert "hub dataset push stones" in reader.page("/datasets/stones")
    page = guest.page("/datasets/stones")
    assert "No versions yet" in page
    assert "hub dataset push" not in page


def test_the_list_has_the_newest_version(ada, guest):
    factories.dataset(ada, "pebbles")
    stones = factories.dataset(ada, "stones")
    for content in (b"first", b"second"):
        factories.dataset_version(ada, stones, {"test.csv": content})
    page = guest.page("/datasets")
    assert '<td class="num">2</td>' in page
    assert page.count("no files") == 1


def test_a_version_is_published_with_a_form(ada, guest, reader):
    factories.dataset(ada, "stones")
    address = "/datasets/stones/publish"
    assert guest.get(address).status_code == 302
    assert f'href="{address}"' in reader.page("/datasets/stones")
    assert "<h1>New version</h1>" in reader.page(address)
    rows = b"weight,<b>,kind\n1.5,2,basalt\n2.5,3,granite\n"
    split = {
        "split0-name": "test",
        "split0-inputs": "features: weight, <b>",
        "split0-column": "kind",
        "split0-labels": "basalt, granite",
    } | {f"split{at}-task": "classification" for at in range(3)}
    split |= {f"split{at}-reader": "csv" for at in range(3)}
    wrong = split | {"file": SimpleUploadedFile("test.csv", rows), "split0-inputs": "features"}
    refused = reader.post(address, wrong)
    assert refused.status_code == 422
    assert "Name at least one column." in refused.content.decode()
    assert not DatasetVersion.objects.exists()
    assert not Blob.objects.exists()
    sent = split | {"file": SimpleUploadedFile("test.csv", rows), "message": "First rows"}
    assert reader.post(address, sent)["Location"] == "/datasets/stones/v1"
    version = DatasetVersion.objects.get()
    assert [row.document() for row in version.typed_splits] == [SPLIT]
    page = guest.page("/datasets/stones/v1")
    for words in ("First rows of", "&lt;b&gt;", "granite", "2.5"):
        assert words in page, words


def test_only_writers_publish(ada, guest):
    factories.dataset(ada, "stones")
    other = Client()
    other.force_login(factories.somebody("bob"))
    assert other.get("/datasets/stones/publish").status_code == 403


def test_only_tables_of_text_have_a_preview(ada, guest):
    contents = {
        "binary.csv": b"a\0b\n1,2",
        "latin.csv": "n\u00e4me\n1\n".encode("latin-1"),
        "cut.csv": b"a,b\n" + b"1,2\n" * 20_000 + b"9,9",
        "data.npz": b"PK",
    }
    factories.dataset_version(ada, contents=contents)
    page = guest.page("/datasets/stones")
    assert page.count("First rows of") == 1
    assert "First rows of <code>cut.csv" in page


def test_previews_are_kept_so_that_the_page_needs_no_storage(ada, guest):
    version = factories.dataset_version(ada, contents={"test.csv": b"a,b\n1,granite"})
    file = version.files.get()
    path = store().path(file.blob_id)
    content = path.read_bytes()
    path.unlink()
    assert "granite" in guest.page("/datasets/stones")
    # One that an earlier release published is read once, as soon as its file can be.
    rows = DatasetVersion.objects.filter(pk=version.pk)
    rows.update(previews=None)
    previews.write_missing()
    assert rows.get().previews is None
    assert "First rows of" not in guest.page("/datasets/stones")
    path.write_bytes(content)
    previews.write_missing()
    assert "granite" in guest.page("/datasets/stones")
    services.withdraw(ada, dataset=version.dataset, reason="Not ours.")
    previews.write_missing()
    assert rows.get().previews is None


def test_a_withdrawn_data_set_links_no_files(ada, guest):
    version = factories.dataset_version(ada)
    services.withdraw(ada, dataset=version.dataset, reason="Not ours.")
    assert " download " not in guest.page("/datasets/stones", status=410)


def test_many_files_columns_and_labels_are_cut_and_counted(ada, guest):
    columns = [f"column{at}" for at in range(50)]
    labels = [f"label{at}" for at in range(1_045)]
    many = SPLIT | {
        "inputs": [{"name": "features", "columns": columns}],
        "target": {"column": "kind", "labels": labels},
    }
    files = {"test.csv": b"rows"} | {f"x{at:03}.csv": b"rows" for at in range(204)}
    factories.dataset_version(ada, contents=files, splits=[many])
    page = guest.page("/datasets/stones")
    assert "1 to 200 of 205 files" in page
    assert "x203.csv" not in page
    assert "x203.csv" in guest.page("/datasets/stones?page=2")
    assert "x017.csv" in (part := guest.page("/datasets/stones/v1?q=X017"))
    assert "x018.csv" not in part.partition("Split test")[0].partition("First rows")[0]
    assert "and 10 more" in page
    assert f">{grouped(1_005)}</data> more" in page
    assert "column40" not in page
