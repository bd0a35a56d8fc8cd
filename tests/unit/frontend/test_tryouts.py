"""The page that runs a model: what it says, what it sends to a worker, and whom it shows what."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from frontend import browser_runtime, tryout
from registry import selectors
from registry.models import Variant
from runners import services
from runners.models import Bar, Job, Measurement
from tests import factories, samples, shared
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
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


def test_the_page_says_what_is_declared_and_what_is_not(guest, version):
    page = guest.get(TRY)
    text = page.content.decode()
    assert "'wasm-unsafe-eval'" in page["Content-Security-Policy"]
    assert page["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "float32[?, 3, 64, 48]" in text
    assert "<b>Not declared.</b>" in text
    assert "Labels are not declared" in text
    assert "No browser runtime on this hub." in text
    assert "Sign in</a> to run it on the server" in text
    assert "try.js" not in text
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
    assert "It waits:" in bob.page(f"{TRY}?run={job.pk}")


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
        capabilities={"runtimes": {"onnxruntime": {}}},
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
        from registry.services import versions

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
    (found,) = tryout._inputs([row, "no row"], task, None)
    assert found.kinds == kinds


def test_declared_steps_of_a_processor():
    steps = tryout._steps(
        {
            "do_resize": True, "size": {"shortest_edge": 256}, "do_center_crop": True,
            "crop_size": {"height": 224, "width": 200}, "do_rescale": True,
            "rescale_factor": 0.5, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3],
            "image_std": [0.2, "?", 0.1], "sampling_rate": 16000,
        }
    )  # fmt: skip
    assert (steps.width, steps.height, steps.fit, steps.scale) == (200, 224, "cover", 0.5)
    assert (steps.mean, steps.std, steps.rate) == ((0.5, 0.4, 0.3), (0.2, 0.1), 16000)


def test_files_beside_the_model_give_settings_and_labels(ada):
    model = factories.model(ada, "seen")
    contents = {
        "model.onnx": b"x",
        "config.json": json.dumps({"id2label": {"1": "dog", "0": "cat"}}).encode(),
        "preprocessor_config.json": json.dumps({"size": 32, "image_mean": [0.5]}).encode(),
    }
    factories.draft(ada, model, contents)
    facts = {"inputs": [PICTURE], "outputs": [SCORES]}
    whole = selectors.whole_version(ada, "ada", "seen", 1)
    known = tryout.read(whole, Variant(facts=facts, precision="int8"))
    assert (known.labels, known.labels_from) == (("cat", "dog"), "config.json")
    assert (known.source, known.profile) == ("preprocessor_config.json", "quantised")
    assert known.preset == (repr(1 / 255), "0.5", "")
    assert json.loads(known.as_json())["profile"]["cosine"] == 0.99


@pytest.mark.parametrize(
    ("config", "metadata", "order"),
    [
        ({}, {}, "RGB"),
        ({"do_flip_channel_order": True}, {}, "BGR"),
        ({"do_flip_channel_order": False}, {"Image.BitmapPixelFormat": "Bgr8"}, "RGB"),
        ({}, {"Image.BitmapPixelFormat": "Bgr8"}, "BGR"),
        ({}, {"Image.BitmapPixelFormat": "Rgb8"}, "RGB"),
    ],
)
def test_the_declared_order_of_channels_is_chosen(guest, ada, config, metadata, order):
    contents = {
        "model.onnx": samples.mlp(),
        "preprocessor_config.json": json.dumps(config).encode(),
    }
    facts = {"inputs": [PICTURE], "outputs": [SCORES], "metadata": metadata}
    factories.listed(ada, factories.model(ada, "seen"), contents, facts=facts)
    html = guest.page("/models/ada/seen/v/1/try")
    select = html.partition('data-set="channels">')[2].partition("</select>")[0]
    assert re.findall("<option selected>([A-Z]+)", select) == [order]
    assert select.count("<option") == 2


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
    assert "contributed by bob" in tab
    assert "ONNX Runtime Web 1.30.0 WASM" in tab
    assert "of-noisy" in tab or 'class="noisy"' in tab
    assert "not ranked" in tab.lower()
    assert "run it in yours" in guest.page(answer["Location"])
    assert "ada/net" not in guest.page("/benchmarks").partition("<main")[2]
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
    assert "try.js" in page
    assert "No browser runtime" not in page


def test_another_archive_is_refused(archive, tmp_path):
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(CommandError, match="is not the archive of onnxruntime-web"):
        call_command("fetch_browser_runtime", archive=archive)
    assert not (tmp_path / "home" / "browser-runtime").exists()


def test_where_npm_is_missing_the_way_is_told(archive, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(CommandError, match=r"--archive: on a machine with npm, `npm pack"):
        call_command("fetch_browser_runtime")
