"""The page that runs a model: what it says, what it sends to a worker, and whom it shows what."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import tarfile
import types
from datetime import timedelta

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone
from PIL import Image

from frontend.pages.tryouts import browser_runtime, browser_support, image_sources, snippets
from frontend.pages.tryouts import page as tryout_page
from hub.protocol import inputs
from hub.protocol.facts import Facts, read_ports
from registry.models import Blob, Variant
from registry.versions import selectors
from runners.engine.runs import pictures
from runners.models import Bar, Job, Measurement
from runners.queue import services
from runners.worker_features import WorkerFeatures
from tests import factories, samples, shared
from tests.unit.frontend.conftest import Reader

pytestmark = [pytest.mark.capability("tryouts"), pytest.mark.django_db]
TRY = "/models/ada/net/v/1/try"
PICTURE = {"name": "image", "type": "tensor", "dtype": "float32", "shape": ["N", 3, 64, 48]}
SCORES = {"name": "scores", "type": "tensor", "dtype": "float32", "shape": ["N", 3]}


@shared.rows
def start():
    ada = factories.somebody("ada")
    factories.somebody("bob")
    version = factories.published(ada, factories.model(ada))
    Variant.objects.filter(version=version).update(
        facts={"inputs": [PICTURE], "outputs": [SCORES]}, precision="fp32"
    )
    return version


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def signed(version):
    """Readers who are signed in, by name."""

    def sign_in(name):
        browser = Reader()
        browser.force_login(type(version.created_by).objects.get(username=name))
        return browser

    return sign_in


def asked(browser, **fields):
    response = browser.post(f"{TRY}/ask", fields, HTTP_ACCEPT="application/json")
    return response, response.json()


def ended(uuid, values=(0.1, 0.7, 0.2)):
    """End a run as a worker would."""
    facts = {
        "runtime": "onnxruntime", "runtime_version": "1.31.1", "threads": 1,
        "load_seconds": 0.02, "run_seconds": 0.004,
        "outputs": [
            {
                "name": "scores", "type": "tensor", "dtype": "float32", "shape": [1, 3],
                "elements": 3, "values": list(values),
            }
        ],
    }  # fmt: skip
    Job.objects.filter(pk=uuid).update(
        state=Job.State.SUCCEEDED, finished_at=timezone.now(), report={"facts": facts}
    )


def test_the_page_says_what_is_declared_and_what_is_not(guest, version, graphs):
    page = guest.get(TRY)
    text = page.content.decode()
    assert "'wasm-unsafe-eval'" in page["Content-Security-Policy"]
    assert page["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "float32[?, 3, 64, 48]" in text
    assert "<b>Not declared.</b>" in text
    assert "No labels declared" in text
    assert (
        "<b>Server only.</b> This model does not run in a browser: this hub has no browser" in text
    )
    assert "Run in this browser" not in text
    assert "Sign in</a> to run on the server" in text
    # A browser takes the headers of a 304 over into the page that it kept.
    kept = guest.get(TRY, HTTP_IF_NONE_MATCH=page["ETag"])
    assert kept.status_code == 304
    for name in ("Content-Security-Policy", "Cross-Origin-Embedder-Policy"):
        assert kept[name] == page[name]
    assert "wasm-unsafe-eval" not in guest.get("/models/ada/net/v/1")["Content-Security-Policy"]


def test_guests_run_nothing_on_the_server(guest, version):
    response, said = asked(guest, **{"json-0": "[1]"})
    assert (response.status_code, said["status"]) == (401, 401)
    assert not Job.objects.filter(kind="run").exists()


@pytest.fixture
def for_guests(settings):
    settings.HUB_LIMITS_GUEST_RUNS_RATE = "2/hour"


def test_a_guest_has_a_run_within_limits_that_this_browser_alone_sees(
    guest, signed, version, for_guests
):
    text = " ".join(guest.page(TRY).split())
    assert "the server does 2 runs per hour and address, each with 8 MB of input and 2 s" in text
    assert 'data-run="server"' in text
    assert "csrfmiddlewaretoken" in text
    response, said = asked(guest, **{"json-0": "[[1, 2]]"})
    assert response.status_code == 202
    job = Job.objects.get(pk=said["run"])
    assert (job.input["seconds"], job.input["file_bytes"], job.requester) == (2, 8_000_000, None)
    assert "asked_by" not in job.input
    cookie = response.cookies["guest_run"]
    assert cookie.value not in json.dumps(job.input)
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (TRY, True, "Strict")
    [digest] = job.input["input_files"].values()
    assert Blob.objects.get(pk=digest).size == len("[[1, 2]]")
    ended(job.pk)
    assert guest.get(said["url"]).json()["state"] == "succeeded"
    assert "0.7" in guest.page(f"{TRY}?run={job.pk}")
    elsewhere = Reader()
    elsewhere.cookies["guest_run"] = "another"
    for other in (Reader(), elsewhere, signed("ada"), signed("bob")):
        assert other.get(said["url"]).status_code == 404
        assert other.get(f"/api/v1/jobs/{job.pk}").status_code == 404
        assert "0.7" not in other.page(f"{TRY}?run={job.pk}")
        assert str(job.pk) not in other.page("/jobs")


def test_guests_of_one_address_have_few_runs_whatever_they_say_of_themselves(
    guest, signed, version, for_guests, settings
):
    def ask(number, **headers):
        fields = {"json-0": f"[{number}]"}
        return Reader().post(f"{TRY}/ask", fields, HTTP_ACCEPT="application/json", **headers)

    for number in range(2):
        response = ask(number, HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
        assert response.status_code == 202
    refused = ask(3, HTTP_X_FORWARDED_FOR="203.0.113.7")
    assert (refused.status_code, refused.json()["status"]) == (429, 429)
    assert "Sign in" in refused.json()["detail"]
    assert int(refused["Retry-After"]) > 0
    stored_blobs = Blob.objects.count()
    assert ask(4, HTTP_FORWARDED="for=203.0.113.8").status_code == 429
    assert Blob.objects.count() == stored_blobs
    assert Job.objects.filter(kind="run").count() == 2
    assert ask(5, REMOTE_ADDR="198.51.100.9").status_code == 202
    assert asked(signed("bob"), **{"json-0": "[6]"})[0].status_code == 202
    # Behind one proxy, the address that it adds counts, and no other.
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
    Job.objects.filter(kind="run").update(state="failed", finished_at=timezone.now())
    said = [ask(n, HTTP_X_FORWARDED_FOR=f"10.0.0.{n}, 203.0.113.9").status_code for n in range(3)]
    assert said == [202, 202, 429]


def test_the_hub_has_few_runs_of_guests_in_its_queue(version, for_guests):
    def ask(number):
        address = f"198.51.100.{number}"
        return Reader().post(
            f"{TRY}/ask", {"json-0": f"[{number}]"}, HTTP_ACCEPT="application/json",
            REMOTE_ADDR=address,
        ).status_code  # fmt: skip

    assert [ask(number) for number in range(5)] == [202] * 4 + [429]
    Job.objects.filter(kind="run").update(state="failed", finished_at=timezone.now())
    assert ask(5) == 202


def test_what_guests_may_not_have_is_refused_before_it_is_stored(
    guest, version, for_guests, monkeypatch
):
    stored_blobs = Blob.objects.count()
    large = SimpleUploadedFile("a.npy", bytes(8_000_001))
    response, said = asked(guest, **{"file-0": large})
    assert (response.status_code, "8 MB" in said["detail"]) == (413, True)
    huge = SimpleUploadedFile("a.npy", bytes(10_000_001))
    assert asked(guest, **{"file-0": huge})[0].status_code == 413
    monkeypatch.setattr("runners.tryouts.tryouts.GUEST_MODEL_BYTES", 1)
    assert "Sign in</a> to run on the server" in guest.page(TRY)
    assert asked(guest, **{"json-0": "[1]"})[0].status_code == 413
    monkeypatch.undo()
    version.model.gate = "manual"
    version.model.save(update_fields=["gate"])
    assert asked(guest, **{"json-0": "[1]"})[0].status_code in (401, 403)
    version.model.visibility = "private"
    version.model.save(update_fields=["visibility"])
    assert asked(guest, **{"json-0": "[1]"})[0].status_code == 404
    assert Blob.objects.count() == stored_blobs
    assert not Job.objects.filter(kind="run").exists()


def test_a_run_of_a_guest_needs_the_token_of_its_form(version, for_guests):
    browser = Reader(enforce_csrf_checks=True)
    assert browser.post(f"{TRY}/ask", {"json-0": "[1]"}).status_code == 403
    page = browser.page(TRY)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    sent = browser.post(f"{TRY}/ask", {"json-0": "[1]", "csrfmiddlewaretoken": token})
    assert sent.status_code == 302


def test_a_run_is_its_askers_alone(signed, guest, version):
    ada, bob = signed("ada"), signed("bob")
    response, said = asked(bob, **{"json-0": "[[1, 2]]"})
    assert response.status_code == 202
    job = Job.objects.get(pk=said["run"])
    assert job.input["inputs"] == [{"name": "image", "path": ".run/0.json", "format": "json"}]
    assert (job.queue, job.max_attempts) == ("cpu.urgent", 1)
    ended(job.pk)
    assert bob.get(said["url"]).json()["state"] == "succeeded"
    page = bob.page(f"{TRY}?run={job.pk}")
    assert page.index(">1</th>") < page.index(">2</th>") < page.index(">0</th>")
    for other in (ada, guest):
        assert other.get(said["url"]).status_code == 404
        assert other.get(f"/jobs/{job.pk}").status_code == 404
        assert other.get(f"/api/v1/jobs/{job.pk}").status_code == 404
        assert str(job.pk) not in other.page("/jobs")
        assert str(job.pk) not in json.dumps(other.get("/api/v1/jobs").json())
        assert "0.7" not in other.page(f"{TRY}?run={job.pk}")
    assert bob.get(f"/models/ada/net/v/1/try/{job.pk}/output_0.npy").status_code == 404


def test_array_files_go_as_they_are_and_forms_lead_back(signed, version):
    bob = signed("bob")
    file = SimpleUploadedFile("a.npy", b"\x93NUMPY")
    response = bob.post(f"{TRY}/ask", {"file-0": file, "json-0": "[9]"})
    job = Job.objects.get(kind="run")
    assert response["Location"] == f"{TRY}?run={job.pk}#server"
    assert job.input["inputs"][0]["format"] == "npy"
    assert "Waiting:" in bob.page(f"{TRY}?run={job.pk}")


def test_one_person_has_few_runs_at_once_and_they_are_forgotten(signed, version):
    bob = signed("bob")
    runs = [asked(bob, **{"json-0": f"[{number}]"})[1]["run"] for number in range(2)]
    response, said = asked(bob, **{"json-0": "[3]"})
    assert (response.status_code, said["title"]) == (429, "Too many requests")
    ended(runs[0])
    assert asked(bob, **{"json-0": "[3]"})[0].status_code == 202
    hour_ago = timezone.now() - timedelta(hours=1, seconds=1)
    Job.objects.filter(pk=runs[0]).update(finished_at=hour_ago)
    assert services.forget_runs() == 1
    assert not Job.objects.filter(pk=runs[0]).exists()


def test_what_somebody_gave_never_bars_a_file(signed, version):
    job = Job.objects.get(pk=asked(signed("bob"), **{"json-0": "[1]"})[1]["run"])
    claimed = services.claim(
        "w", ["cpu.urgent"], uuid=str(job.pk), host="h",
        features=WorkerFeatures(runtimes={"onnxruntime": ""}),
    )  # fmt: skip
    services.give_back(claimed, reason="crash", detail="died")
    job.refresh_from_db()
    assert job.state == "failed"
    assert not Bar.objects.exists()


@pytest.mark.parametrize("state", ["draft", "withdrawn"])
def test_only_what_is_published_is_run(signed, version, state):
    owner = version.created_by
    actor = factories.admin() if state == "withdrawn" else owner
    if state == "draft":
        factories.draft(owner, version.model)
        place = "/models/ada/net/v/2/try"
    else:
        from registry.versions.services import versions

        versions.withdraw(actor, version=version, reason="wrong")
        place = TRY
    browser = Reader()
    browser.force_login(owner)
    assert "data-model" not in browser.page(place)
    response = browser.post(f"{place}/ask", {"json-0": "[1]"}, HTTP_ACCEPT="application/json")
    assert response.status_code in (404, 409)
    assert not Job.objects.filter(kind="run").exists()


def test_a_private_model_is_run_by_its_readers_alone(signed, version):
    version.model.visibility = "private"
    version.model.save(update_fields=["visibility"])
    assert signed("bob").get(TRY).status_code == 404
    assert asked(signed("bob"), **{"json-0": "[1]"})[0].status_code == 404
    assert asked(signed("ada"), **{"json-0": "[1]"})[0].status_code == 202


# --- what a version declares ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "shape", "task", "kinds"),
    [
        ("float32", ["N", 3, 64, 64], "", ("picture", "tensor")),
        ("uint8", [480, 640, 3], "", ("picture", "tensor")),
        ("float32", [8, 3, 64, 64], "", ("tensor",)),
        ("float32", ["N", "S"], "audio-classification", ("sound", "tensor")),
        ("float32", ["N", 13], "", ("table", "tensor")),
        ("string", ["N"], "", ("text", "tensor")),
        ("int64", ["N", "S"], "text-classification", ("tensor",)),
        ("bfloat16", ["N"], "", ()),
    ],
)
def test_how_an_input_may_be_given(dtype, shape, task, kinds):
    row = {"name": "x", "type": "tensor", "dtype": dtype, "shape": shape}
    (found,) = tryout_page._inputs(read_ports([row, "no row"]), task, {})
    assert found.kinds == kinds


PROCESSOR = {
    "do_resize": True, "size": {"shortest_edge": 256}, "do_center_crop": True,
    "crop_size": {"height": 224, "width": 200}, "do_rescale": True, "resample": 3,
    "rescale_factor": 0.5, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.2, 0.1], "sampling_rate": 16000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "declared"),
    [
        (PROCESSOR, {
            "channels": "RGB", "scale": 0.5, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.2, 0.1],
            "resize": {"width": 200, "height": 224, "mode": "crop", "interpolation": "bicubic",
                       "shortest_edge": 256},
        }),
        ({"size": {"height": 32, "width": 48}, "image_mean": [0.5], "resample": 0},
         {"scale": "0-1", "mean": [0.5],
          "resize": {"width": 48, "height": 32, "mode": "stretch", "interpolation": "nearest"}}),
        ({"size": 32, "rescale_factor": 1 / 255}, {
            "channels": "RGB", "scale": "0-1", "resize": {"width": 32, "height": 32}}),
        ({"size": 32, "do_rescale": False, "do_flip_channel_order": True},
         {"channels": "BGR", "scale": "0-255", "resize": {"width": 32, "height": 32}}),
        ({"size": 32}, {"channels": "RGB", "resize": {"width": 32, "height": 32}}),
        ({"size": "big", "image_mean": ["?"], "resample": 9}, {"channels": "RGB", "scale": "0-1"}),
        ({"sampling_rate": 16000}, None),
    ],
)  # fmt: skip
def test_declared_steps_of_a_processor(config, declared):
    image = image_sources.of_processor(config)
    assert (image.document() if image else None) == declared


@pytest.mark.parametrize(
    ("contents", "metadata", "labels", "source"),
    [
        ({}, {"character": "0\n90\n180"}, ("0", "90", "180"), "metadata of the file, character"),
        ({}, {"classes": "cat\ndog"}, ("cat", "dog"), "metadata of the file, classes"),
        ({"labels.txt": b"a\nb\n"}, {"classes": "cat\ndog"}, ("a", "b"), "labels.txt"),
        ({}, {"classes": "2"}, (), ""),
        ({}, {"character": "a\n" * 1000}, (), ""),
    ],
    ids=["character", "classes", "beside", "number", "cut"],
)
def test_labels_in_the_metadata_are_used_where_no_file_has_them(
    ada, contents, metadata, labels, source
):
    factories.draft(ada, factories.model(ada, "seen"), {"model.onnx": b"x"} | contents)
    facts = {"inputs": [PICTURE], "outputs": [SCORES], "metadata": metadata}
    whole = selectors.whole_version(ada, "ada", "seen", 1)
    known = tryout_page.read(whole, Variant(version=whole, facts=facts, precision="fp32"))
    assert (known.labels, known.labels_from) == (labels, source)


def test_files_beside_the_model_give_settings_and_labels(ada):
    model = factories.model(ada, "seen")
    contents = {
        "model.onnx": b"x",
        "config.json": json.dumps({"id2label": {"1": "dog", "0": "cat"}}).encode(),
        "preprocessor_config.json": json.dumps(PROCESSOR).encode(),
    }
    factories.draft(ada, model, contents)
    facts = {"inputs": [PICTURE], "outputs": [SCORES]}
    whole = selectors.whole_version(ada, "ada", "seen", 1)
    known = tryout_page.read(whole, Variant(version=whole, facts=facts, precision="int8"))
    assert (known.labels, known.labels_from) == (("cat", "dog"), "config.json")
    assert (known.source, known.profile) == ("preprocessor_config.json", "quantised")
    assert known.rate == 16000
    fields = known.inputs[0].settings
    assert (fields["mean"].value, fields["mean"].origin) == ("0.5, 0.4, 0.3", known.source)
    assert (fields["layout"].value, fields["layout"].origin) == ("NCHW", "the shape")
    assert fields.missing == []
    assert json.loads(known.as_json())["profile"]["cosine"] == 0.99


@pytest.mark.parametrize(
    ("config", "metadata", "order"),
    [
        ({}, {}, ""),
        ({"do_flip_channel_order": True}, {}, "BGR"),
        ({"do_flip_channel_order": False}, {"Image.BitmapPixelFormat": "Bgr8"}, "RGB"),
        ({}, {"Image.BitmapPixelFormat": "Bgr8"}, "BGR"),
        ({}, {"Image.BitmapPixelFormat": "Rgb8"}, "RGB"),
    ],
)
def test_the_order_of_channels_is_declared_or_asked_for(guest, ada, config, metadata, order):
    contents = {
        "model.onnx": samples.mlp(),
        "preprocessor_config.json": json.dumps(config).encode(),
    }
    facts = {"inputs": [PICTURE], "outputs": [SCORES], "metadata": metadata}
    factories.version(ada, factories.model(ada, "seen"), contents, facts=facts)
    html = guest.page("/models/ada/seen/v/1/try")
    select = html.partition('data-set="channels"')[2].partition("</select>")[0]
    assert re.findall('<option value="([A-Za-z]+)" selected>', select) == [order] * bool(order)
    assert ("choose …" in select) == (not order)


CARD = """---
license: mit
inputs:
  image:
    image:
      channels: BGR
      scale: 0-255
      mean: [103.94, 116.78, 123.68]
      polarity: light-on-dark
      resize: {mode: letterbox, pad: 114, interpolation: bicubic}
---
# Seen
"""


@pytest.fixture
def declared(ada):
    facts = {"inputs": [PICTURE], "outputs": [SCORES]}
    contents = {
        "model.onnx": samples.mlp(),
        "preprocessor_config.json": json.dumps({"size": 32, "image_mean": [0.5] * 3}).encode(),
    }
    model = factories.model(ada, "seen")
    return factories.version(ada, model, contents, facts=facts, card=CARD)


def test_the_card_decides_before_other_files(ada, declared):
    known = tryout_page.read(
        selectors.whole_version(ada, "ada", "seen", 1), declared.variants.get()
    )
    fields = {one.name: (one.value, one.origin) for one in known.inputs[0].settings.choices}
    assert fields == {
        "channels": ("BGR", "the card"),
        "polarity": ("light-on-dark", "the card"),
        "own": ("", ""),
        "width": ("48", "the shape"),
        "height": ("64", "the shape"),
        "mode": ("letterbox", "the card"),
        "interpolation": ("bicubic", "the card"),
        "shortest_edge": ("", ""),
        "pad": ("114", "the card"),
        "scale": ("0-255", "the card"),
        "mean": ("103.94, 116.78, 123.68", "the card"),
        "std": ("", ""),
        "layout": ("NCHW", "the shape"),
    }
    assert known.source == "the card"


def posted(fields, **changed):
    return {f"{one.name}-0": one.value for one in fields.choices} | changed


def test_a_picture_of_a_form_goes_with_its_preprocessing(ada, declared):
    known = tryout_page.read(
        selectors.whole_version(ada, "ada", "seen", 1), declared.variants.get()
    )
    browser = Reader()
    browser.force_login(ada)
    file = SimpleUploadedFile("a.png", b"x", content_type="image/png")
    fields = posted(known.inputs[0].settings, **{"own-0": "dark-on-light", "pad-0": "0"})
    place = "/models/ada/seen/v/1/try"
    browser.post(f"{place}/ask", fields | {"picture-0": file}, HTTP_ACCEPT="application/json")
    job = Job.objects.get(kind="run")
    (row,) = job.input["inputs"]
    assert (row["format"], row["polarity"]) == ("picture", "dark-on-light")
    expected = inputs.parse(declared.card["inputs"])[0].image.document()
    expected["resize"] = {"width": 48, "height": 64, "mode": "letterbox",
                          "interpolation": "bicubic"}  # fmt: skip
    assert row["image"] == {**expected, "layout": "NCHW"}
    assert job.input["draw"] is True
    ended(job.pk)
    page = browser.page(f"{place}?run={job.pk}")
    assert "Preprocessing of image:" in page
    assert 'channels BGR <span class="muted">(the card)' in page
    assert 'polarity of the image Dark on light <span class="muted">(your choice)' in page


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "Choose polarity of the image"),
        ({"own-0": "dark-on-light", "scale-0": ""}, "Choose values"),
        ({"own-0": "dark-on-light", "mode-0": "", "channels-0": ""}, "Choose channels, fit"),
        ({"own-0": "dark-on-light", "width-0": "wide"}, "Width: This must be a whole number"),
        ({"own-0": "dark-on-light", "std-0": "0"}, "Deviation: Each standard deviation is above"),
    ],
)
def test_a_step_that_is_not_known_is_asked_for(ada, declared, changed, words):
    known = tryout_page.read(
        selectors.whole_version(ada, "ada", "seen", 1), declared.variants.get()
    )
    browser = Reader()
    browser.force_login(ada)
    fields = posted(known.inputs[0].settings, **changed)
    fields["picture-0"] = SimpleUploadedFile("a.png", b"x")
    response = browser.post("/models/ada/seen/v/1/try/ask", fields, HTTP_ACCEPT="application/json")
    assert response.status_code == 400
    assert words in response.json()["detail"]
    assert not Job.objects.filter(kind="run").exists()


def test_a_drawn_output_says_how_many_values_it_has(signed):
    bob = signed("bob")
    job = Job.objects.get(pk=asked(bob, **{"json-0": "[1]"})[1]["run"])
    output = {
        "name": "y", "type": "tensor", "dtype": "float32", "shape": [1, 1, 672, 672],
        "elements": 451584, "values": [0.5] * 1000, "file": "output_0.npy",
        "drawn": {"file": "output_0.png", "width": 672, "height": 672, "how": "linear",
                  "low": -0.25, "high": 1.0},
    }  # fmt: skip
    facts = {"runtime": "onnxruntime", "runtime_version": "1", "load_seconds": 1, "run_seconds": 1,
             "outputs": [output]}  # fmt: skip
    Job.objects.filter(pk=job.pk).update(
        state=Job.State.SUCCEEDED, finished_at=timezone.now(), report={"facts": facts}
    )
    page = bob.page(f"{TRY}?run={job.pk}")
    assert '10 of <data value="451584">451\N{NARROW NO-BREAK SPACE}584</data> values' in page
    assert f'src="{TRY}/{job.pk}/output_0.png" width="672"' in page
    assert "black is the lowest value, \N{MINUS SIGN}0.25, white the highest, 1" in page
    assert f'href="{TRY}/{job.pk}/output_0.npy"' in page


# --- what a browser can run ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "size", "words"),
    [
        ({"opsets": {"ai.onnx": 17}}, 2 * 10**9, "the limit is 1.5 GB"),
        ({"opsets": {"ai.onnx": 27}}, 1, "its opset is 27"),
        ({"opsets": {"ai.onnx": 4}}, 1, "supports 7 to 26"),
        ({"opsets": {}}, 1, "does not declare an opset"),
        ({"ir_version": 14}, 1, "supports up to 13"),
        ({"precision": "bf16"}, 1, "bfloat16"),
        ({"operators": [{"domain": "com.acme", "name": "Frob"}]}, 1, "not support com.acme:Frob"),
        (
            {"opset": 22, "operators": [{"domain": "ai.onnx", "name": "RoiAlign"}]},
            1,
            "not support RoiAlign",
        ),
        ({"outputs": [{"name": "y", "type": "sequence"}]}, 1, "the model has no tensor output"),
    ],
)
def test_what_a_browser_cannot_run_is_not_offered(monkeypatch, facts, size, words):
    monkeypatch.setattr(browser_runtime, "is_here", lambda: True)
    facts = {"operators": [{"domain": "ai.onnx", "name": "Relu"}]} | facts
    (obstacle,) = browser_support.obstacles(Facts.read(facts), size)
    assert words in obstacle


@pytest.mark.parametrize(
    "facts",
    [
        {"opset": 21, "opsets": {"ai.onnx": 21},
         "operators": [{"domain": "ai.onnx", "name": "RoiAlign"}]},
        {"opset": 1, "opsets": {"ai.onnx": 1, "ai.onnx.ml": 1},
         "operators": [{"domain": "ai.onnx.ml", "name": "Scaler"}]},
        {"opset": 17, "opsets": {"ai.onnx": 17, "own": 1}, "ir_version": 13,
         "operators": [{"domain": "own", "name": "Twice"}],
         "functions": [{"domain": "own", "name": "Twice"}]},
        {"operators": [{"domain": "com.microsoft", "name": "FusedMatMul"}]},
    ],
)  # fmt: skip
def test_what_a_browser_can_run_is_offered(monkeypatch, facts):
    monkeypatch.setattr(browser_runtime, "is_here", lambda: True)
    assert browser_support.obstacles(Facts.read(facts), 1000) == ()


def test_a_browser_is_offered_only_where_it_works(guest, version, monkeypatch, graphs):
    assert 'href="/models/ada/net/v/1/try"' in guest.page("/models/ada/net/v/1")
    page = guest.page("/models/ada/net/v/1/try")
    assert "<b>Server only.</b>" in page
    assert "Run in this browser" not in page
    monkeypatch.setattr(browser_runtime, "is_here", lambda: True)
    monkeypatch.setattr(browser_runtime, "weight", lambda: 0)
    assert "Run in this browser</button>" in guest.page("/models/ada/net/v/1/try")
    facts = {"operators": [{"domain": "com.acme", "name": "Frob"}]}
    Variant.objects.filter(version=version).update(facts=facts)
    assert "<b>Server only.</b>" in guest.page("/models/ada/net/v/1/try")


# --- the same in code ----------------------------------------------------------------------------


def run_code(text, tmp_path, monkeypatch):
    """Run the code of a page on a picture; gives what the session is fed."""
    fed = {}

    class Session:
        def __init__(self, content):
            assert content == b"model"

        def run(self, names, feeds):
            fed.update(feeds)
            return []

    model = types.SimpleNamespace(SerializeToString=lambda: b"model")
    monkeypatch.setitem(sys.modules, "hub", types.SimpleNamespace(load={"a/b@1": model}.get))
    monkeypatch.setitem(sys.modules, "onnxruntime", types.SimpleNamespace(InferenceSession=Session))
    monkeypatch.chdir(tmp_path)
    exec(compile(text, "code", "exec"), {})  # noqa: S102 - the code is the subject of the test
    return fed


@pytest.mark.parametrize(
    ("size", "steps"),
    [
        ((30, 21), {"channels": "grey", "scale": "0-1", "polarity": "light-on-dark",
                    "resize": {"mode": "stretch", "interpolation": "box"}}),
        ((30, 21), {"channels": "RGB", "scale": "0-1", "mean": [0.485, 0.456, 0.406],
                    "std": [0.229, 0.224, 0.225], "layout": "NCHW",
                    "resize": {"width": 16, "height": 16, "mode": "crop", "shortest_edge": 19,
                               "interpolation": "bilinear"}}),
        ((21, 30), {"channels": "BGR", "scale": "-1-1", "layout": "NHWC",
                    "resize": {"width": 16, "height": 12, "mode": "letterbox", "pad": 114,
                               "interpolation": "bicubic"}}),
        ((21, 30), {"channels": "RGB", "scale": "0-255", "layout": "HWC",
                    "resize": {"width": 9, "mode": "crop", "interpolation": "lanczos"}}),
        ((21, 30), {"channels": "grey", "scale": 0.3, "layout": "NHWC",
                    "resize": {"height": 9, "mode": "stretch", "interpolation": "nearest"}}),
    ],
)  # fmt: skip
def test_the_code_makes_the_tensor_of_the_run(tmp_path, monkeypatch, size, steps):
    image = inputs.image_of(steps)
    shape = (None, 1, 8, 8) if "layout" not in steps else None
    one = tryout_page.Input(0, "x", "float32", shape, ("picture",))
    own = "dark-on-light" if image.polarity else None
    text = snippets.code("hub.load('a/b@1')", [snippets.Feed(one, image, own)])
    pixels = np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    fed = run_code(text, tmp_path, monkeypatch)["x"]
    how = inputs.resolve(image, shape, own)
    expected = pictures.tensor(tmp_path / "picture.png", how, np.float32)
    assert fed.dtype == expected.dtype
    assert (fed == expected).all()


def test_the_code_of_the_page_follows_its_fields(guest, declared):
    place = "/models/ada/seen/v/1/try"
    page = guest.page(place)
    assert "ImageOps.invert(picture)  # only if the picture is dark-on-light" in page
    assert "hub.load(&quot;ada/seen@1&quot;)" in page
    asked = {"kind-0": "picture", "channels-0": "grey", "polarity-0": "none", "mode-0": "stretch",
             "interpolation-0": "box", "scale-0": "0-1", "layout-0": "NHWC"}  # fmt: skip
    answer = guest.get(f"{place}/code", asked)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    text = answer.content.decode()
    assert 'convert("L")' in text
    assert "invert" not in text
    assert "[np.newaxis, :, :, np.newaxis]" in text
    assert "np.load" in guest.get(f"{place}/code", {"kind-0": "tensor"}).content.decode()


def test_code_says_what_is_not_known(guest, version):
    page = guest.page(TRY)
    assert "The preprocessing of &#x27;image&#x27; is not known: channels, values, fit" in page


# --- the runtime's own files ---------------------------------------------------------------------


MEASURED = {
    "times_ms": [2.0, 2.5, 2.1, 2.2],
    "first_ms": 9.0,
    "loading_ms": 120.5,
    "clock_ms": 0.1,
    "threads": 2,
    "inputs": [{"name": "image", "dtype": "float32", "shape": [1, 3, 64, 48]}],
}


def contribute(somebody, told, **fields):
    words = {"browser": "Chromium 156", "device": "laptop"}
    return somebody.post(f"{TRY}/contribute", {"told": json.dumps(told)} | words | fields)


@pytest.mark.usefixtures("lists")
def test_latency_of_a_page_is_kept_as_noisy_and_never_ranked(signed, guest, version):
    assert contribute(guest, MEASURED).status_code == 401
    bob = signed("bob")
    answer = contribute(bob, MEASURED)
    row = Measurement.objects.get()
    assert (answer.status_code, answer["Location"]) == (
        302, f"/models/ada/net/v/1/benchmarks/{row.pk}",
    )  # fmt: skip
    assert (row.origin, row.contributor.username) == ("contributed", "bob")
    assert (row.status, row.reasons, row.is_ranked) == (
        "noisy",
        ["too-few-processes", "nothing-readable"],
        False,
    )
    assert (row.runtime, row.runtime_version, row.provider) == (
        "onnxruntime-web", browser_runtime.VERSION, "WasmExecutionProvider",
    )  # fmt: skip
    assert (row.device_title, row.threads, row.samples) == ("Chromium 156, laptop", 2, 4)
    assert row.p50_ms == pytest.approx(2.15)
    # What a page cannot see has no figure.
    assert (row.cpu_ms, row.peak_rss_bytes, row.energy_j) == (None, None, None)
    assert set(row.environment.parts) == {
        "cpu_model", "browser", "device", "runtime", "runtime_version",
    }  # fmt: skip
    tab = guest.page("/models/ada/net/v/1/benchmarks")
    assert "contributed by bob, unverified" in tab
    assert row.trust == "unverified"
    assert "ONNX Runtime Web 1.30.0 WASM" in tab
    assert "of-grey" in tab or 'class="grey"' in tab
    assert "not ranked" in tab.lower()
    assert "none ranked" in tab
    assert "Run it in your browser" in guest.page(answer["Location"])
    ranking, _, apart = guest.page("/benchmarks").partition('id="unverified"')
    assert "ada/net" not in ranking.partition("<main")[2]
    assert "ada/net" in apart
    assert "Chromium 156" not in guest.page("/").partition("<main")[2]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"times_ms": [1.0]}, "times_ms"),
        ({"times_ms": [1.0, -1.0]}, "times_ms"),
        ({"times_ms": [1.0, float("nan")]}, "times_ms"),
        ({"times_ms": [0.0, 0.0]}, "stats.p50_of_processes_ms"),
        ({"threads": True}, "threads"),
        ({"inputs": [{"name": "x", "dtype": "float32", "shape": [-1]}]}, "config.inputs"),
        ({"inputs": "x"}, "inputs"),
        ({"clock_ms": None}, "clock_ms"),
    ],
)
def test_what_no_page_measures_is_refused(signed, change, where):
    answer = contribute(signed("bob"), MEASURED | change)
    assert answer.status_code == 422
    assert where in answer.content.decode()
    assert not Measurement.objects.exists()


def test_a_contribution_says_which_browser_and_has_a_measurement(signed):
    bob = signed("bob")
    assert contribute(bob, MEASURED, browser=" ").status_code == 422
    assert contribute(bob, MEASURED, device="a\x00b").status_code == 422
    assert bob.post(f"{TRY}/contribute", {"told": "["}).status_code == 400
    answer = contribute(bob, MEASURED, browser="Firefox 150", device="")
    assert answer.status_code == 302
    assert Measurement.objects.get().device_title == "Firefox 150"


@pytest.fixture
def archive(tmp_path, settings, monkeypatch):
    """An archive as the pinned one, of small files, and a home to unpack it into."""
    settings.HUB_HOME = tmp_path / "home"
    contents = {name: f"content of {name}".encode() for name in browser_runtime.FILES}
    place = tmp_path / "runtime.tgz"
    with tarfile.open(place, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"package/dist/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    import base64
    import hashlib

    whole = base64.b64encode(hashlib.sha512(place.read_bytes()).digest()).decode()
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(browser_runtime, "INTEGRITY", f"sha512-{whole}")
    monkeypatch.setattr(browser_runtime, "FILES", digests)
    monkeypatch.setattr(browser_runtime, "_brotli", lambda _: "gzip only")
    return place


def test_the_pinned_archive_is_unpacked_and_served(archive, guest, version):
    assert not browser_runtime.is_here()
    call_command("fetch_browser_runtime", archive=archive, stdout=io.StringIO())
    assert browser_runtime.is_here()
    assert [path.name for path in browser_runtime.folder().parent.iterdir()] == ["1.30.0"]
    place = f"/runtime/1.30.0/{browser_runtime.ENTRY}"
    plain = guest.get(place)
    assert plain.content == f"content of {browser_runtime.ENTRY}".encode()
    packed = guest.get(place, HTTP_ACCEPT_ENCODING="gzip, br")
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    for answer in (plain, packed):
        assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert "immutable" in answer["Cache-Control"]
    kept = guest.get(place, HTTP_IF_NONE_MATCH=plain["ETag"])
    assert kept.status_code == 304
    assert "'wasm-unsafe-eval'" in kept["Content-Security-Policy"]
    assert kept["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert guest.get("/runtime/1.30.0/worker.js").status_code == 200
    for wrong in ("/runtime/1.29.0/worker.js", "/runtime/1.30.0/secret-key"):
        assert guest.get(wrong).status_code == 404
    page = guest.page(TRY)
    assert "Run in this browser" in page
    assert "This model does not run in a browser" not in page


def test_a_package_carries_the_runtime_and_a_home_goes_before_it(archive, monkeypatch, tmp_path):
    packaged = tmp_path / "package" / "browser-runtime"
    monkeypatch.setattr(browser_runtime, "PACKAGED", packaged)
    call_command("fetch_browser_runtime", archive=archive, package=True, stdout=io.StringIO())
    assert browser_runtime.is_here()
    assert browser_runtime.folder() == packaged / browser_runtime.VERSION
    call_command("fetch_browser_runtime", archive=archive, stdout=io.StringIO())
    assert browser_runtime.folder() == browser_runtime.home()


def test_another_archive_is_refused(archive, tmp_path):
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(CommandError, match="is not the archive of onnxruntime-web"):
        call_command("fetch_browser_runtime", archive=archive)
    assert not (tmp_path / "home" / "browser-runtime").exists()


def test_where_npm_is_missing_the_way_is_told(archive, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(CommandError, match=r"--archive: on a machine with npm, `npm pack"):
        call_command("fetch_browser_runtime")
