"""One file as a page: text, labels, cards, weights, and tensors that a worker looks at."""

from __future__ import annotations

import json
import re
import tempfile
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from onnx import numpy_helper

from frontend.pages.graphs import file_contents
from metadata.store import negotiation
from registry.models import File, RegisteredModel
from registry.storage.files import store
from registry.versions.services import versions
from runners.engine.graphs import tensor_figures
from runners.engine.reports import Finding, Report
from runners.graphs import tensors
from runners.models import Job
from runners.queue import services
from tests import factories, proven, samples, shared
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/v/1"
VIEW = f"{PAGE}/view"
HOSTILE = "<script>alert(1)</script>"
CONTENTS = {
    "model.onnx": samples.mlp(),
    "labels.txt": b"zero\none\n" + HOSTILE.encode() + b"\n",
    "config.json": b'{"hidden": 8, "evil": "' + HOSTILE.encode() + b'"}\n',
    "train.py": b"\n\ndef train():\n    return 1  # " + HOSTILE.encode() + b"\n",
    "page.html": HOSTILE.encode(),
    "long.txt": "\n".join(f"line {index}" for index in range(1000)).encode(),
    "wide.txt": b"x" * 300_000,
    "not.txt": b"\xff\xfe\x00binary",
    "latin.txt": "caf\xe9".encode("latin-1"),
    "pic.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "weird.dat": b"\0\1\2",
    "test_data_set_0/input_0.pb": numpy_helper.from_array(
        np.array([[0, 1, 2, 3]], np.float32), "x"
    ).SerializeToString(),
}


def words(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2])))


@shared.rows
def start():
    return factories.published(factories.somebody("ada"), contents=CONTENTS)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def look(version, path):
    """The tensors of a file, looked at as a worker does it, but in this process."""
    job = Job.objects.get(version=version, kind=tensors.KIND, entry=path, state="queued")
    job = services.claim("looker", [job.queue], uuid=str(job.pk))
    file = File.objects.get(version=version, path=path)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        target = folder.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(store().path(file.blob_id)).read_bytes())
        read = tensor_figures.READERS[target.suffix]
        sizes = {path: file.blob.size}
        tensor_figures.write(read, folder, path, sizes, folder / tensor_figures.NAME)
        outputs = [proven._output("tensors.json", (folder / "tensors.json").read_bytes())]
    end(job, "passed", outputs)


def end(job, outcome, outputs=(), findings=()):
    from registry.core import outbox

    report = Report(job.kind, {}, "0" * 64, outcome, tuple(findings), outputs=list(outputs))
    services.finish(job, report)
    outbox.deliver()


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CONTENTS)
def test_whatever_a_file_holds_nothing_of_it_runs(guest, version, path):
    answer = guest.get(f"{VIEW}/{path}", HTTP_ACCEPT="text/html")
    assert answer.status_code == 200
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]
    page = answer.content.decode()
    assert HOSTILE not in page
    assert " style=" not in page
    assert f'href="{PAGE}/files/{path}" download' in page
    assert page.count("<") < 3000
    assert "<img" not in page.partition("<main")[2]


def test_code_is_coloured_and_its_lines_are_counted_whole(guest, version):
    page = guest.page(f"{VIEW}/train.py")
    assert '<span class="k">def</span>' in page
    numbers = page.partition('<pre aria-hidden="true">')[2].partition("</pre>")[0]
    assert numbers.split("\n") == ["1", "2", "3", "4"]
    assert "&lt;script&gt;" in page
    assert '<span class="nt">"hidden"</span>' in guest.page(f"{VIEW}/config.json")


def test_labels_are_counted_from_nought(guest, version):
    page = guest.page(f"{VIEW}/labels.txt")
    assert "numbered from 0" in words(page)
    assert '<pre aria-hidden="true">0\n1\n2</pre>' in page


def test_long_texts_are_cut_into_pages_and_wide_ones_cut(guest, version):
    page = guest.page(f"{VIEW}/long.txt")
    assert "showing 1 to 400" in words(page)
    assert "line 399" in page
    assert "line 400" not in page
    last = guest.page(f"{VIEW}/long.txt?page=3")
    assert "line 999" in last
    assert guest.page(f"{VIEW}/long.txt?page=99").count("line 999") == last.count("line 999")
    assert guest.page(f"{VIEW}/long.txt?page=x%3Cb%3E").count("line 0") == page.count("line 0")
    wide = guest.page(f"{VIEW}/wide.txt")
    assert len(wide) < 100_000
    assert "Truncated." in words(wide)


@pytest.mark.parametrize("path", ["not.txt", "latin.txt", "weird.dat"])
def test_what_is_no_text_is_said_to_be_none(guest, version, path):
    assert "No preview for this file type" in words(guest.page(f"{VIEW}/{path}"))


def test_pictures_are_links_alone(guest, version):
    page = guest.page(f"{VIEW}/pic.svg")
    assert "Images are not displayed" in words(page)
    assert "xmlns" not in page


def test_a_card_is_a_page_and_its_source_is_text(guest, version):
    page = guest.page(f"{VIEW}/README.md")
    assert "It tells digits apart." in page
    assert "pipeline_tag" not in page
    assert "pipeline_tag" in guest.page(f"{VIEW}/README.md?source")


def test_names_of_any_shape(guest, ada):
    strange = "a folder/ü 'x' &lt; y.txt"
    factories.version(ada, contents={"model.onnx": samples.mlp(), strange: b"hello"})
    files_page = guest.page(f"{PAGE}/files")
    url = re.search(r'href="([^"]*/view/a%20folder[^"]*)"', files_page)[1]
    page = guest.page(unescape(url))
    assert "hello" in page
    assert "&amp;lt; y.txt" in page
    assert guest.get(f"{VIEW}/there-is-none.txt").status_code == 404
    assert guest.get(f"{VIEW}/..%2f..%2fsettings.py").status_code == 404


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"\r\n\r\n", b"a", b"\xef\xbb\xbfa\r\nb\rc\n", b"a\xf0\x9f"]
)
def test_every_line_has_a_number(guest, ada, raw):
    contents = {"model.onnx": samples.mlp(), "x.txt": raw or b" "}
    version = factories.draft(ada, contents=contents)
    found = file_contents.text(File.objects.get(version=version, path="x.txt"), "")
    if found is not None:
        assert len(found["numbers"].split("\n")) == found["body"].count("\n") + 1 == found["total"]


# --- weights -------------------------------------------------------------------------------------


def test_weights_by_type_and_the_files_they_lie_in(guest, ada):
    facts = factories.FACTS | {
        "initializers": {
            "count": 3,
            "bytes": 400,
            "by_dtype": {
                "float32": {"count": 2, "elements": 75, "bytes": 300},
                "int8": {"count": 1, "elements": 100, "bytes": 100},
            },
        },
        "external_files": [
            {"path": "w.data", "tensors": 2, "bytes": 300, "first": 0, "end": 300, "size": 300}
        ],
    }
    contents = {"model.onnx": samples.mlp(), "w.data": b"x" * 300}
    factories.submitted(ada, contents=contents)
    factories.work(facts=facts)
    page = guest.page(f"{VIEW}/model.onnx")
    assert "float32 2 75 300 B" in words(page).replace("\u202f", " ")
    assert '<rect width="75.00" height="1"/>' in page
    assert f'href="{VIEW}/w.data"' in page
    said = words(guest.page(f"{VIEW}/w.data")).replace("\u202f", " ")
    assert "model.onnx default 2 tensors 0 to 300" in said


# --- tensors -------------------------------------------------------------------------------------


def test_tensors_are_asked_for_looked_at_and_kept(guest, reader, version):
    path = "test_data_set_0/input_0.pb"
    assert "Sign in to analyse the tensors" in words(guest.page(f"{VIEW}/{path}"))
    assert guest.post(f"{VIEW}/{path}").status_code == 401
    assert "Analyse tensors" in words(reader.page(f"{VIEW}/{path}"))
    asked = reader.post(f"{VIEW}/{path}")
    assert (asked.status_code, asked["Location"]) == (302, f"{VIEW}/{path}#tensors")
    assert "Analysing tensors" in words(guest.page(f"{VIEW}/{path}"))
    look(version, path)
    page = guest.page(f"{VIEW}/{path}")
    assert "float32[1, 4]" in words(page)
    assert " 0 3 1.5 25" in words(page).replace("\u202f", " ")
    assert '<svg class="bins" viewBox="0 0 24 24"' in page
    job = Job.objects.get(kind=tensors.KIND)
    assert reader.post(f"{VIEW}/{path}").status_code == 302
    assert Job.objects.filter(kind=tensors.KIND).get() == job
    assert f'href="{VIEW}/{path}"' in guest.page(f"/jobs/{job.pk}")


def test_initialisers_of_a_model(guest, reader, version):
    reader.post(f"{VIEW}/model.onnx")
    look(version, "model.onnx")
    page = guest.page(f"{VIEW}/model.onnx")
    assert "4 tensors" in words(page)
    assert "float32[4, 8]" in words(page)


def test_what_could_not_be_read_says_why(guest, reader, version):
    path = "test_data_set_0/input_0.pb"
    reader.post(f"{VIEW}/{path}")
    job = Job.objects.get(kind=tensors.KIND)
    job = services.claim("looker", [job.queue], uuid=str(job.pk))
    end(job, "failed", findings=[Finding("tensors-unreadable", "error", "It is <b>no</b> tensor.")])
    page = guest.page(f"{VIEW}/{path}")
    assert "The tensors could not be read." in words(page)
    assert "<b>no</b>" not in page


def test_only_files_of_tensors_of_released_versions_are_looked_at(reader, ada, version):
    assert reader.post(f"{VIEW}/labels.txt").status_code in (400, 422)
    factories.draft(ada, factories.model(ada, "other"))
    assert reader.post("/models/ada/other/v/1/view/model.onnx").status_code == 409
    assert "after publication" in words(reader.page("/models/ada/other/v/1/view/model.onnx"))
    assert not Job.objects.filter(kind=tensors.KIND).exists()


def test_the_list_is_no_file_of_the_graph_nor_of_the_manifest(reader, version, api, graphs):
    before = negotiation.of_version(version)
    reader.post(f"{VIEW}/model.onnx")
    look(version, "model.onnx")
    made = File.objects.get(version=version, path__startswith="tensors/")
    assert made.derived
    from metadata.graphs import projection, selectors

    assert made.path not in projection.version_graph(
        selectors.version_facts(version), "http://testserver"
    )
    assert negotiation.of_version(version) == before
    assert "Tensor statistics" in reader.page(f"{PAGE}/files")


def test_a_list_of_another_shape_is_no_error():
    odd = {"name": HOSTILE, "min": "x", "max": [], "bins": [1, -1, 2]}
    for table in (
        {},
        {"tensors": 3},
        {"tensors": [3, {"shape": 4, "bins": ["x"], "zeros": 1}]},
        {"tensors": [odd], "count": True},
    ):
        rows, _, _ = file_contents.tensors(table, "1")
        assert len(rows) <= 1
    assert file_contents.histogram([0, 0]) == ""


# --- who may see it ------------------------------------------------------------------------------


def test_of_a_private_model_nothing_is_told(guest, reader, ada, bob):
    factories.version(ada, factories.model(ada, visibility="private"), contents=CONTENTS)
    other = Reader()
    other.force_login(bob)
    for somebody in (guest, other):
        for path in ("labels.txt", "model.onnx", "nothing.txt"):
            assert somebody.get(f"{VIEW}/{path}").status_code == 404
            assert somebody.post(f"{VIEW}/{path}").status_code == 404
    assert "zero" in reader.page(f"{VIEW}/labels.txt")


def test_a_gated_models_files_are_not_shown(guest, reader, ada, version, api):
    reader.post(f"{VIEW}/model.onnx")
    look(version, "model.onnx")
    RegisteredModel.objects.update(gate="manual")
    for path in ("labels.txt", "model.onnx"):
        answer = guest.get(f"{VIEW}/{path}", HTTP_ACCEPT="text/html")
        assert (answer.status_code, answer["Location"]) == (302, "/models/ada/net/access")
        assert guest.post(f"{VIEW}/{path}", HTTP_ACCEPT="application/json").status_code == 401
    job = Job.objects.get(kind=tensors.KIND)
    told = json.dumps(api().get(f"jobs/{job.pk}").json()["report"])
    assert "bins" not in told
    assert "mean" not in told
    assert "zero" in reader.page(f"{VIEW}/labels.txt")


def test_of_a_withdrawn_version_files_are_gone(guest, reader, ada, version):
    reader.post(f"{VIEW}/model.onnx")
    look(version, "model.onnx")
    versions.withdraw(ada, version=version, reason="It was wrong.")
    assert guest.get(f"{VIEW}/labels.txt").status_code == 410
    assert f"{VIEW}/" not in guest.page(f"{PAGE}/files")


# --- the list of files ---------------------------------------------------------------------------


def test_files_say_in_which_version_they_came(guest, reader, ada):
    kept = {"model.onnx": samples.mlp(), "same.txt": b"same"}
    first = factories.version(ada, contents=kept | {"other.txt": b"one"})
    factories.version(ada, first.model, contents=kept | {"other.txt": b"two", "new.txt": b"one"})
    with CaptureQueriesContext(connection) as asked:
        page = guest.page("/models/ada/net/v/2/files")
    rows = dict(re.findall(r'(?s)view/([a-z.]+)">.*?<td class="num">(version \d)', page))
    assert rows["same.txt"] == "version 1"
    assert rows["model.onnx"] == "version 1"
    assert rows["other.txt"] == "version 2"
    assert rows["new.txt"] == "version 2"
    assert sum("MIN(" in one["sql"] for one in asked) == 1
    assert "version 1" in words(guest.page("/models/ada/net/v/2/view/same.txt"))


def test_a_draft_that_others_do_not_see_is_not_named(guest, ada, reader):
    draft = factories.draft(ada, contents={"model.onnx": samples.mlp(), "x.txt": b"x"})
    factories.version(ada, draft.model, contents={"model.onnx": samples.mlp(), "x.txt": b"x"})
    assert "version 2" in words(guest.page("/models/ada/net/v/2/files"))
    assert 'view/x.txt">x.txt</a></th>' in guest.page("/models/ada/net/v/2/files")
    said = re.search(r"(?s)x\.txt</a>.*?(version \d)", guest.page("/models/ada/net/v/2/files"))[1]
    assert said == "version 2"
    said = re.search(r"(?s)x\.txt</a>.*?(version \d)", reader.page("/models/ada/net/v/2/files"))[1]
    assert said == "version 1"


def test_code_that_a_lexer_takes_too_long_for_is_shown_without_colours(settings):
    settings.HUB_TEXT_SECONDS = 1
    code = "\n" * 19_000 + "int <a>;"
    assert file_contents._coloured(code, "c") == "\n" * 19_000 + "int &lt;a&gt;;"
