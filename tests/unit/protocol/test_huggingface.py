"""Answers of servers that speak the Hub protocol are read once, or refused."""

from __future__ import annotations

import pytest

from hub.protocol import huggingface, problems

COMMIT, SHA256 = "1a" * 20, "2b" * 32
LFS = {"oid": f"sha256:{SHA256}", "size": 7}


def test_a_model_is_read_under_the_name_that_it_has_now():
    content = {"id": "ada/net", "sha": COMMIT, "private": True, "gated": "auto"}
    model = huggingface.Model.read(content, "ada/old")
    assert model == huggingface.Model("ada/net", COMMIT, "", is_private=True, is_gated=True)
    assert huggingface.Model.read({"sha": COMMIT}, "gpt2").name == "gpt2"


@pytest.mark.parametrize("content", [None, [], {"sha": "main"}, {"id": "a/b/c", "sha": COMMIT}])
def test_what_is_no_model_is_refused(content):
    with pytest.raises(huggingface.MalformedError):
        huggingface.Model.read(content, "ada/net")


def test_a_tree_is_read_without_its_folders():
    rows = [
        {"type": "directory", "path": "onnx", "size": 0, "oid": COMMIT},
        {"type": "file", "path": "a.json", "size": 3, "oid": COMMIT},
        {"type": "file", "path": "onnx/b", "size": 1, "oid": COMMIT, "lfs": LFS},
    ]
    assert huggingface.entries(rows) == (
        huggingface.Entry("a.json", 3, COMMIT, None),
        huggingface.Entry("onnx/b", 7, COMMIT, SHA256),
    )
    with pytest.raises(problems.PathInvalid):
        huggingface.entries([{"type": "file", "path": "../up", "size": 3, "oid": COMMIT}])
    for damage in ({"size": True}, {"size": -1}, {"oid": "x"}, {"lfs": LFS | {"oid": "x"}}):
        with pytest.raises(huggingface.MalformedError):
            huggingface.entries([rows[1] | damage])


def test_pages_and_heads():
    link = '<https://elsewhere.example/api?cursor=2&recursive=true>; rel="next"'
    assert huggingface.following(link) == {"cursor": "2", "recursive": "true"}
    assert huggingface.following("") is None
    assert huggingface.head([{"id": COMMIT, "title": "A\nb", "date": 5}], COMMIT) == ("A", "")
    assert huggingface.head([{"id": "other", "title": "A"}], COMMIT) == ("", "")
    for content in ({}, None, [1]):
        with pytest.raises(huggingface.MalformedError):
            huggingface.items(content)
