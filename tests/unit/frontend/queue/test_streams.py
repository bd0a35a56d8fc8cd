"""Server-sent events: what is sent, who may listen, and that no thread is held for long."""

from __future__ import annotations

import pytest

from frontend.parts import streams
from runners.models import Job
from runners.queue import services
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def places(monkeypatch, settings):
    settings.HUB_LIMITS_STREAMS = 2
    made = streams.Places()
    monkeypatch.setattr(streams, "PLACES", made)
    return made


class Clock:
    """A clock that only sleeping moves on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def heard(texts, *, reader="one"):
    """What is sent for a row that reads so, one after another; the last of them ends it."""
    clock, rest = Clock(), list(texts)

    def look():
        text = rest.pop(0) if len(rest) > 1 else rest[0]
        return text, text == "over"

    response = streams.answer(look, reader, sleep=clock.sleep, clock=clock)
    return b"".join(response).decode(), clock.now


def test_only_changes_are_sent_and_the_last_one_ends_it(places):
    sent, seconds = heard(["a\nb", "a\nb", "c", "over"])
    assert sent == (
        "retry: 1000\n\nevent: change\ndata: a\ndata: b\n\n"
        "event: change\ndata: c\n\nevent: end\ndata: over\n\n"
    )
    assert seconds == 3
    assert len(places) == 0


def test_a_silent_one_is_kept_alive_and_ends_at_its_bound(places):
    sent, seconds = heard(["same"])
    assert sent.count("event:") == 1
    assert sent.count(": still here\n\n") == 8
    assert seconds == streams.LONGEST_SECONDS
    assert len(places) == 0


def test_places_are_bounded_for_one_and_for_all(places, settings):
    settings.HUB_LIMITS_STREAMS = 3
    held = [streams.answer(lambda: ("x", False), "one") for _ in range(3)]
    assert [one.status_code for one in held] == [200, 200, 204]
    others = [streams.answer(lambda: ("x", False), name) for name in ("two", "three")]
    assert [one.status_code for one in others] == [200, 204]
    held[0].close()
    held[0].close()
    assert len(places) == 2
    assert streams.answer(lambda: ("x", False), "one").status_code == 200


def test_what_looking_raises_gives_the_place_back(places):
    def look():
        raise ValueError("gone")

    response = streams.answer(look, "one", sleep=lambda _: None)
    with pytest.raises(ValueError, match="gone"):
        list(response)
    assert len(places) == 0


@pytest.fixture
def job(ada):
    version = factories.draft(ada, factories.model(ada, visibility="private"))
    return services.enqueue(kind="describe", version=version, entry="model.onnx")


def test_a_job_is_heard_by_those_who_may_see_it_alone(places, job, guest, reader):
    Job.objects.filter(pk=job.pk).update(state=Job.State.CANCELLED, finished_at=job.queued_at)
    assert guest.get(f"/jobs/{job.pk}/events").status_code == 404
    response = reader.get(f"/jobs/{job.pk}/events")
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-store"
    sent = b"".join(response).decode()
    assert "event: end\n" in sent
    assert f'data-url="/jobs/{job.pk}?part"' in sent
    assert "<html" not in sent
    assert len(places) == 0
