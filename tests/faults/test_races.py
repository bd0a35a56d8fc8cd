"""Many at once: numbers are unique, one claims a name, and the others are told."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import samples

CLIENTS = 12


def at_once(call):
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(call, range(CLIENTS)))


def test_many_draft_versions_of_one_model(hub):
    hub.call("POST", "models", {"namespace": "zoo", "name": "crowd"})
    answers = at_once(lambda _: hub.call("POST", "models/zoo/crowd/versions", {}))
    assert {status for status, _, _ in answers} == {201}
    assert sorted(body["number"] for _, _, body in answers) == list(range(1, CLIENTS + 1))


def test_many_claim_one_name(hub):
    answers = at_once(lambda _: hub.call("POST", "models", {"namespace": "zoo", "name": "prize"}))
    assert Counter(status for status, _, _ in answers) == {201: 1, 409: CLIENTS - 1}
    told = {body["type"].rpartition("/")[2] for status, _, body in answers if status == 409}
    assert told == {"name-taken"}


def test_many_move_one_alias(hub):
    path = hub.draft("aliased", samples.mlp())
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published")
    target = {"kind": "alias", "version": 1}
    answers = at_once(lambda _: hub.call("PUT", "models/zoo/aliased/refs/stable", target))
    assert Counter(status for status, _, _ in answers) == {201: 1, 200: CLIENTS - 1}


def test_many_write_to_one_upload(hub):
    content = b"0123456789" * 50_000
    path = hub.upload(content)
    answers = at_once(lambda _: hub.patch(path, 0, content))
    counts = Counter(status for status, _, _ in answers)
    assert counts[204] == 1
    assert counts[204] + counts[409] == CLIENTS
    assert hub.call("GET", path)[2]["state"] == "stored"


def test_the_same_bytes_uploaded_at_once(hub):
    content = b"the same bytes " * 1000
    digests = at_once(lambda _: hub.store(content))
    assert len(set(digests)) == 1


def test_many_publish_at_once(hub):
    hub.call("POST", "models", {"namespace": "zoo", "name": "busy"})
    digest = hub.store(samples.mlp(hidden=6))

    def publish(_):
        _, _, version = hub.call("POST", "models/zoo/busy/versions", {})
        path = f"models/zoo/busy/versions/{version['number']}"
        assert hub.call("PUT", f"{path}/files/model.onnx", {"blob": digest})[0] == 201
        assert hub.call("POST", f"{path}/submit", {"publish": True})[0] == 200
        return path

    paths = at_once(publish)
    for path in paths:
        hub.wait_until(path, "published")
    commits = {hub.call("GET", path)[2]["commit_id"] for path in paths}
    assert len(commits) == CLIENTS
    assert hub.call("GET", "models/zoo/busy")[2]["latest"]["number"] == CLIENTS


@pytest.mark.parametrize("slug", ["crowded", "crowded-at-first"])
def test_many_publish_versions_of_one_data_set(hub, slug):
    """Each content once, numbered without a gap, whoever comes first and makes the entry."""
    if slug == "crowded":
        hub.call("POST", "datasets", {"namespace": "zoo", "slug": slug})
    digests = [hub.store(b"rows %d" % at) for at in range(CLIENTS // 3)]
    answers = at_once(
        lambda at: hub.call(
            "POST",
            f"datasets/{slug}/versions",
            {"namespace": "zoo", "files": {"rows.csv": digests[at % len(digests)]}},
        )
    )
    made = Counter(status for status, _, _ in answers)
    assert made == {201: len(digests), 200: CLIENTS - len(digests)}
    numbers = {(body["number"], body["files"][0]["sha256"]) for _, _, body in answers}
    assert sorted(number for number, _ in numbers) == list(range(1, len(digests) + 1))
    assert {digest for _, digest in numbers} == set(digests)


def test_many_open_discussions_and_comment_at_once(hub):
    discuss_at_once(hub)


def discuss_at_once(hub):
    """Numbers are given once each, and every comment that was answered 201 is there."""
    hub.draft("argued", samples.mlp())
    place = "models/zoo/argued/discussions"
    answers = at_once(lambda n: hub.call("POST", place, {"title": f"{n}", "body": "A"}))
    assert {status for status, _, _ in answers} == {201}
    assert sorted(body["number"] for _, _, body in answers) == list(range(1, CLIENTS + 1))
    answers = at_once(lambda n: hub.call("POST", f"{place}/1/comments", {"body": f"{n}"}))
    assert {status for status, _, _ in answers} == {201}
    assert sorted(body["number"] for _, _, body in answers) == list(range(2, CLIENTS + 2))
    written = {body["number"]: body["body"] for _, _, body in answers}
    comments = hub.call("GET", f"{place}/1")[2]["comments"]
    assert {one["number"]: one["body"] for one in comments[1:]} == written
