"""The list of versions: aliases moved by a form, downloads by week; and files of a version."""

from __future__ import annotations

import pytest

from registry.core import usage
from registry.models import Ref
from tests import factories, samples
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
MODEL = "/models/ada/net"


def test_an_alias_is_made_and_moved_with_a_form(ada, guest, reader):
    model = factories.model(ada)
    factories.version(ada, model)
    factories.version(ada, model)
    assert "Move an alias" in reader.page(f"{MODEL}/versions")
    assert "Move an alias" not in guest.page(f"{MODEL}/versions")
    for number in (1, 2):
        sent = {"alias": "stable", "number": number, "message": f"To {number}"}
        assert reader.post(f"{MODEL}/aliases", sent)["Location"] == f"{MODEL}/versions"
        assert Ref.objects.get(kind="alias").version.number == number
    page = guest.page(f"{MODEL}/versions")
    assert "alias stable" in page
    assert "To 2" in page


def test_a_refused_move_says_why_and_keeps_the_form(ada, reader):
    factories.version(ada)
    for sent, words in (
        ({"alias": "main", "number": 1}, "main"),
        ({"alias": "a b", "number": 1}, "a b"),
        ({"alias": "stable", "number": 9}, "Select a valid choice"),
    ):
        answer = reader.post(f"{MODEL}/aliases", sent)
        assert answer.status_code == 422, sent
        assert words in answer.content.decode()
    assert not Ref.objects.filter(kind="alias").exists()


def test_only_maintainers_move_aliases(ada):
    factories.version(ada)
    other = Reader()
    other.force_login(factories.somebody("bob"))
    answer = other.post(f"{MODEL}/aliases", {"alias": "stable", "number": 1})
    assert answer.status_code == 403
    assert not Ref.objects.filter(kind="alias").exists()


def test_downloads_are_shown_by_week_and_version(ada, guest):
    version = factories.version(ada)
    assert "Downloads</h2>" not in guest.page(f"{MODEL}/versions")
    usage.notes.add_download(version.pk, 1200)
    usage.notes.flush()
    page = guest.page(f"{MODEL}/versions")
    assert "Downloads</h2>" in page
    assert '<data value="1200">1\u202f200</data>' in page
    assert f"for {usage.WEEKS_KEPT} weeks" in page


def test_many_files_have_pages_and_a_search(ada, guest):
    contents = {"model.onnx": samples.mlp()} | {f"data/{at:03}.bin": b"x" for at in range(250)}
    version = factories.version(ada, contents=contents)
    total = version.files.count()
    page = guest.page(f"{MODEL}/v/1/files")
    assert f"1 to 200 of {total} files" in page
    assert 'rel="next" href="/models/ada/net/v/1/files?page=2"' in page
    last = guest.page(f"{MODEL}/v/1/files?page=2")
    assert f"201 to {total} of {total} files" in last
    hits = guest.page(f"{MODEL}/v/1/files?q=DATA/01")
    assert "1 to 10 of 10 files" in hits
    assert "data/020.bin" not in hits
    assert "No file has this" in guest.page(f"{MODEL}/v/1/files?q=nothing")
    assert guest.get(f"{MODEL}/v/1/files?sort=x").status_code == 400
