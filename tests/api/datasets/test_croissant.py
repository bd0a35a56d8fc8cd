"""Versions of data sets in Croissant: files by digest, record sets of splits."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest

from tests import factories

TABLE = b"weight,colour,kind\n1.5,2,granite\n2.5,1,basalt\n"
SPLIT = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["test set.csv"],
    "inputs": [
        {"name": "features", "columns": ["weight", "colour"]},
        {"name": "note", "columns": ["kind"]},
    ],
    "target": {"column": "kind", "labels": ["basalt", "granite"]},
}


@pytest.fixture
def stones(ada):
    return factories.dataset(ada, "stones", license="cc0-1.0", title="Stones")


def publish(client, files, splits):
    digests = {path: client.upload(content)["Hub-Blob"] for path, content in files.items()}
    made = client.post("datasets/stones/versions", {"files": digests, "splits": splits})
    assert made.status_code == 201, made.content
    return client.get("datasets/stones/versions/1/croissant")


def test_a_table_is_a_record_set_with_a_field_for_each_column(ada, api, stones):
    answer = publish(api(ada), {"test set.csv": TABLE}, [SPLIT])
    assert answer["Content-Type"] == "application/ld+json"
    document = answer.json()
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert (document["name"], document["version"]) == ("stones", "1.0.0")
    assert document["license"] == "https://spdx.org/licenses/CC0-1.0"
    (file,) = document["distribution"]
    assert file["sha256"] == hashlib.sha256(TABLE).hexdigest()
    assert file["contentUrl"].endswith("/api/v1/datasets/stones/versions/1/files/test%20set.csv")
    assert (file["contentSize"], file["encodingFormat"]) == (f"{len(TABLE)} B", "text/csv")
    (rows,) = document["recordSet"]
    assert (file["@id"], rows["@id"]) == ("test-set.csv", "test")
    fields = [(one["@id"], one["dataType"], one["source"]["extract"]) for one in rows["field"]]
    assert fields == [
        ("test/weight", "sc:Float", {"column": "weight"}),
        ("test/colour", "sc:Float", {"column": "colour"}),
        ("test/kind", "sc:Text", {"column": "kind"}),
    ]


def test_pictures_are_read_from_their_archive_and_arrays_are_files_alone(ada, api, stones):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("basalt/one.png", b"no picture")
    pictures = {
        "name": "photos",
        "task": "classification",
        "reader": "images",
        "files": ["photos.zip"],
        "inputs": [{"name": "x"}],
        "target": {"labels": ["basalt", "granite"]},
    }
    arrays = SPLIT | {
        "name": "arrays",
        "reader": "npz",
        "files": ["arrays.npz"],
        "inputs": [{"name": "x", "columns": ["x"]}],
        "target": {"column": "y"},
    }
    files = {"photos.zip": archive.getvalue(), "arrays.npz": b"no arrays"}
    document = publish(api(ada), files, [pictures, arrays]).json()
    kinds = {one["@id"]: one["@type"] for one in document["distribution"]}
    assert kinds == {
        "photos.zip": "cr:FileObject",
        "arrays.npz": "cr:FileObject",
        "photos/pictures": "cr:FileSet",
    }
    (rows,) = document["recordSet"]
    image, label = rows["field"]
    assert image["source"]["extract"] == {"fileProperty": "content"}
    assert label["source"]["transform"] == {"regex": "([^/]+)/[^/]+$"}


def test_a_withdrawn_data_set_and_an_unknown_version_have_no_document(ada, api, stones):
    client = api(ada)
    publish(client, {"test set.csv": TABLE}, [SPLIT])
    assert client.get("datasets/stones/versions/2/croissant").status_code == 404
    client.post("datasets/stones/withdraw", {"reason": "Consent revoked"})
    gone = client.get("datasets/stones/versions/1/croissant")
    assert (gone.status_code, gone.json()["type"].rpartition("/")[2]) == (410, "withdrawn")


def test_names_without_white_space_are_different_all_the_same(ada, api, stones):
    """Readers of Croissant refuse white space in identifiers."""
    split = SPLIT | {
        "name": "a b",
        "files": ["a b.csv", "a-b.csv"],
        "inputs": [{"name": "x", "columns": ["big size", "big-size"]}],
    }
    files = {"a b.csv": TABLE, "a-b.csv": TABLE + b"1,2,basalt\n"}
    document = publish(api(ada), files, [split]).json()
    names = [one["@id"] for one in document["distribution"]]
    for rows in document["recordSet"]:
        names += [rows["@id"], *(field["@id"] for field in rows["field"])]
        assert [one["source"]["extract"]["column"] for one in rows["field"]] == [
            *("big size", "big-size", "kind")
        ]
    assert len(set(names)) == len(names) == 10
    assert not any(char.isspace() for char in "".join(names))
