"""Running a model: in the reader's browser, and on the same input on a worker."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.http import (
    FileResponse,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.tryouts import (
    browser_runtime,
    browser_support,
    input_form,
    javascript,
    page,
    snippets,
)
from frontend.parts import client_wheel
from frontend.parts.addresses import whole
from frontend.parts.caching import conditional
from frontend.presenters import multipart, variants, version_head
from frontend.presenters.version_page import context, of_version, of_whole_version
from hub.counting import plural
from hub.protocol import problems, stored
from hub.protocol.outputs import Text
from registry.api.throttles import address_of
from registry.core.rates import Rate
from registry.storage.files import store
from runners.benchmarks import browser_runs
from runners.models import ConformanceResult, Job
from runners.proofs import selectors as proofs
from runners.queue.selectors import why_waiting
from runners.tryouts import tryouts

if TYPE_CHECKING:
    from uuid import UUID

    from registry.models import Variant, Version

# The page's own policy: the runtime is WebAssembly, and its threads need a page kept apart.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; media-src blob:; font-src 'self'; "
    "connect-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Camera and microphone are the reader's to grant, on this page alone.
PERMISSIONS = "camera=(self), geolocation=(), microphone=(self), payment=(), usb=()"
LANGUAGES = (("Python", "python"), ("JavaScript", "javascript"))
# A model of more bytes is loaded only by its button, not by the first choice of an example.
MOST_QUICK = 25_000_000
RUNS = 30
MOST_TOLD = 100_000
YEAR_SECONDS = 31_536_000
HOUR_SECONDS = 3_600
# The cookie that shows a guest their newest run.
GUEST = "guest_run"


@require_safe
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    """The page, and with ``run`` what a run on the server found."""
    template_context = context(request, version, "try")
    variant = template_context["variant"]
    released = version.is_served and variant is not None
    model = page.read(version, variant) if released and variant else None
    run = _run_of(request, version)
    size = (
        sum(file.blob.size for file in version_head.own_model(version, variant)) if variant else 0
    )
    is_signed_in = request.user.is_authenticated
    for_guests = tryouts.runs_for_guests(size)
    obstacles = browser_support.obstacles(variant.typed_facts, size) if variant else ()
    here = released and not obstacles
    response = render(
        request,
        "tryouts/try.html",
        {
            **template_context,
            "released": released,
            "known": model,
            "runtime": {"name": browser_runtime.PACKAGE, "version": browser_runtime.VERSION},
            "runtime_here": here,
            "runtime_bytes": browser_runtime.weight() if here else 0,
            "runs": RUNS,
            "files_json": json.dumps(_files(version, variant) if variant else []),
            "runtime_base": reverse("browser-runtime", args=[browser_runtime.VERSION, "-"])[:-1],
            "runtime_entry": browser_runtime.ENTRY,
            "model_bytes": size,
            "obstacles": obstacles,
            "client": client_wheel.requirement("cpu"),
            "codes": [
                (title, language, _code(request, version, variant, model, language))
                for title, language in LANGUAGES
                if model and variant
            ],
            "examples_json": json.dumps(_examples(version, model) if model else []),
            "proof": _proof(version, variant) if model and model.examples and variant else None,
            "quick": here and size <= MOST_QUICK,
            "run": run,
            "answer": _answer(run, model) if run and model else None,
            "waits": why_waiting(run) if run else "",
            "most_bytes": tryouts.MOST_BYTES if is_signed_in else tryouts.GUEST_BYTES,
            "on_server": is_signed_in or for_guests,
            "guest_runs": _words_of(tryouts.guest_rate())
            if for_guests and not is_signed_in
            else "",
            "guest_seconds": tryouts.GUEST_SECONDS,
        },
    )
    response["Content-Security-Policy"] = POLICY
    response["Permissions-Policy"] = PERMISSIONS
    response["Cross-Origin-Opener-Policy"] = "same-origin"
    response["Cross-Origin-Embedder-Policy"] = "require-corp"
    return response


@require_safe
@of_whole_version
def code(request: HttpRequest, version: Version) -> HttpResponse:
    """The run that the fields of the form describe, as Python or JavaScript; plain text."""
    variant = version_head.required_variant(version, request.GET.get("variant", ""))
    if not version.is_served:
        raise problems.VariantMissing(f"{version.ref} has no variant yet.", offers="none yet")
    language = "javascript" if request.GET.get("language") == "javascript" else "python"
    text = _code(request, version, variant, page.read(version, variant), language)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_POST
@of_whole_version
def ask(request: HttpRequest, version: Version) -> HttpResponse:
    """Have a worker run the model on what the form brings; leads back to the page, or says where.

    Each input comes as a file ``file-k`` (`.npy`), as JSON in ``json-k``, or as a picture
    ``picture-k`` with the fields of its preprocessing.
    """
    variant = version_head.required_variant(version, request.POST.get("variant", ""))
    model = page.read(version, variant)
    inputs = _inputs(request, model)
    secret = ""
    if request.user.is_authenticated:
        values = [
            replace(value, digest=multipart.keep(request.user, file)) for value, file in inputs
        ]
        job = tryouts.request(request.user, variant=variant, inputs=values, draw=model.sees)
    else:
        job, secret = tryouts.request_for_guest(
            address_of(request),
            variant=variant,
            inputs=[(value, file.read()) for value, file in inputs],
            draw=model.sees,
        )
    response: HttpResponse
    if "json" in request.headers.get("Accept", ""):
        url = version_head.place(version, "version-run", job.uuid)
        response = JsonResponse({"run": str(job.uuid), "url": url}, status=202)
    else:
        choice = version_head.choice_of(version, variant)
        joint = "&" if choice else "?"
        url = version_head.place(version, "version-try")
        response = HttpResponseRedirect(f"{url}{choice}{joint}run={job.uuid}#server")
    if secret:
        response.set_cookie(
            GUEST,
            secret,
            max_age=HOUR_SECONDS,
            path=version_head.place(version, "version-try"),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )
    return response


@require_POST
@of_whole_version
def contribute(request: HttpRequest, version: Version) -> HttpResponse:
    """Keep the latency that the page measured, under its reader's name; leads to the result.

    ``told`` is what the page measured, as JSON; ``browser`` and ``device`` are the reader's words.
    """
    variant = version_head.required_variant(version, request.POST.get("variant", ""))
    text = request.POST.get("told", "")
    try:
        measurement = json.loads(text) if len(text) <= MOST_TOLD else None
    except (ValueError, RecursionError):
        measurement = None
    if not isinstance(measurement, dict):
        raise problems.InvalidRequest("No measurement to contribute. Run the model first.")
    words = {name: request.POST.get(name, "") for name in ("browser", "device")}
    row = browser_runs.contribute(
        request.user,
        variant=variant,
        run=measurement | words,
        runtime_version=browser_runtime.VERSION,
    )
    return HttpResponseRedirect(version_head.place(version, "benchmark", row.pk))


@require_safe
@of_version
def state(request: HttpRequest, version: Version, uuid: UUID) -> JsonResponse:
    """The state of a run and its results, for the user who requested it."""
    job = _belonging(request, version, uuid)
    response = JsonResponse(
        {
            "state": job.state,
            "ended": job.is_ended,
            "waits": why_waiting(job),
            "error": job.error_detail if job.state == "failed" else "",
            "facts": job.typed_report.facts,
        }
    )
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
@of_version
def output(request: HttpRequest, version: Version, uuid: UUID, filename: str) -> FileResponse:
    """One output of a run, as a `.npy` file, or drawn as a `.png`."""
    blob = tryouts.output(_belonging(request, version, uuid), filename)
    response = FileResponse(
        store().open(blob.sha256),
        as_attachment=not filename.endswith(".png"),
        filename=filename,
        content_type="image/png" if filename.endswith(".png") else "application/octet-stream",
    )
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def runtime_file(request: HttpRequest, version: str, filename: str) -> HttpResponseBase:
    """A file of the runtime, as a page kept apart may load it."""
    try:
        if version != browser_runtime.VERSION:
            raise KeyError(version)  # noqa: TRY301
        file = browser_runtime.find(filename, request.headers.get("Accept-Encoding", ""))
    except KeyError:
        raise problems.NotFound(
            f"The browser runtime {version[:20]} has no file {filename[:64]}."
        ) from None
    response = HttpResponse(content_type=file.type)
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cross-Origin-Embedder-Policy"] = "require-corp"
    response["Content-Security-Policy"] = browser_runtime.POLICY
    response["Vary"] = "Accept-Encoding"
    response["ETag"] = file.etag
    response["Cache-Control"] = (
        "public, no-cache"
        if filename == browser_runtime.WORKER
        else f"public, max-age={YEAR_SECONDS}, immutable"
    )
    answer = conditional(request, response)
    if answer is not response:
        return answer
    if file.encoding:
        response["Content-Encoding"] = file.encoding
    response.content = file.path.read_bytes()
    return response


def _words_of(rate: Rate) -> str:
    period = {1: "second", 60: "minute", 3_600: "hour", 86_400: "day"}[rate.seconds]
    return f"{plural(rate.events, 'run')} per {period} and address"


def _inputs(
    request: HttpRequest, model: page.Model
) -> list[tuple[tryouts.Input, UploadedFile[bytes]]]:
    """The inputs that a form brings, each with its bytes, which are not stored yet."""
    inputs = []
    posted = {name: str(value) for name, value in request.POST.items()}
    for field in model.inputs:
        file = request.FILES.get(f"file-{field.index}")
        picture = request.FILES.get(f"picture-{field.index}")
        text = posted.get(f"json-{field.index}", "").strip() or input_form.row_of(posted, field)
        if file is not None:
            inputs.append((tryouts.Input(field.name, "npy"), file))
        elif picture is not None and "picture" in field.kinds:
            image, own = input_form.picture(posted, field)
            value = tryouts.Input(field.name, "picture", image=image, polarity=own)
            inputs.append((value, picture))
        elif text:
            sent = SimpleUploadedFile(f"{field.index}.json", text.encode())
            inputs.append((tryouts.Input(field.name, "json"), sent))
    return inputs


def _code(
    request: HttpRequest, version: Version, variant: Variant, model: page.Model, language: str
) -> str:
    fields = {name: str(value) for name, value in request.GET.items()}
    feeds = [_feed(fields, field, model) for field in model.inputs]
    if language == "javascript":
        path = f"{version_head.place(version, 'version-file', variant.entry.path)}"
        return javascript.code(f"{settings.HUB_PUBLIC_URL}{path}", _module_url, feeds)
    names = [name for name, _ in model.outputs]
    texts = (
        (names.index(each.name), each.reading)
        for each in model.readings
        if isinstance(each.reading, Text) and each.name in names
    )
    text = next(texts, None)
    return snippets.code(variants.load_of(version, variant), feeds, names, text)


def _module_url(name: str) -> str:
    """The address of a module of the page, for code that uses it."""
    return settings.HUB_PUBLIC_URL + static(f"frontend/{name}")


def _feed(fields: dict[str, str], field: input_form.Input, model: page.Model) -> snippets.Feed:
    """One input as the fields of the form describe it; what they leave out is as declared."""
    kind = fields.get(f"kind-{field.index}") or next(iter(field.kinds), "")
    value = input_form.value_of(fields.get(f"value-{field.index}", ""))
    example = fields.get(f"example-{field.index}", "")
    if (field.index, example) in {pair for row in model.examples for pair in row.inputs}:
        row = whole(fields.get(f"row-{field.index}", ""))
        return snippets.Feed(field, value=value, example=example, row=row)
    if kind in ("sound", "file", "carry") and field.source:
        return snippets.Feed(field, is_source=True)
    if kind != "picture" or value is not None:
        preset = input_form.value_of(field.preset)
        return snippets.Feed(field, value=preset if value is None else value)
    image, own = field.image, None
    if f"scale-{field.index}" in fields:
        with suppress(problems.InvalidRequest):
            image, own = input_form.picture(fields, field)
    return snippets.Feed(
        field,
        image,
        own,
        trim=bool(fields.get(f"trim-{field.index}")),
        file=fields.get(f"name-{field.index}", "")[:100] or "picture.png",
    )


def _proof(version: Version, variant: Variant) -> ConformanceResult | None:
    """The newest passed run of the version's own test data by this variant, if none failed."""
    rows = [
        row
        for row in proofs.results_of(version)
        if row.variant_id == variant.pk and row.check_kind == ConformanceResult.Check.BUNDLED
    ]
    if any(row.outcome == "failed" for row in rows):
        return None
    return next((row for row in rows if row.outcome == "passed"), None)


def _examples(version: Version, model: page.Model) -> list[dict[str, Any]]:
    """The examples with the addresses of their files, as the page's module reads them."""

    def files(pairs: tuple[tuple[int, str], ...]) -> list[dict[str, Any]]:
        return [
            {"index": index, "path": path, "url": version_head.place(version, "version-file", path)}
            for index, path in pairs
        ]

    return [
        {"title": example.title, "inputs": files(example.inputs), "outputs": files(example.outputs)}
        for example in model.examples
    ]


def _run_of(request: HttpRequest, version: Version) -> Job | None:
    run = request.GET.get("run", "")
    try:
        return _belonging(request, version, tryouts.uuid_of(run)) if run else None
    except problems.NotFound:
        return None


def _belonging(request: HttpRequest, version: Version, uuid: UUID) -> Job:
    job = tryouts.of(request.user, uuid, request.COOKIES.get(GUEST, ""))
    if job.version_id != version.pk:
        raise problems.NotFound("Run not found.")
    return job


def _answer(job: Job, model: page.Model) -> dict[str, Any]:
    facts = job.typed_report.facts
    rows = stored.rows(facts.get("outputs"))
    inputs = {field.name: field for field in model.inputs}
    pictures = [
        (row["name"], input_form.choices(row["image"], row.get("polarity"), inputs[row["name"]]))
        for row in job.input.get("inputs", [])
        if row.get("format") == "picture" and row["name"] in inputs
    ]
    outputs = [row | page.first_values(row, model.labels) for row in rows]
    return {**facts, "outputs": outputs, "preprocessing": pictures}


def _files(version: Version, variant: Variant) -> list[dict[str, Any]]:
    """The model and its external data, as the page's module fetches them."""
    entry = variant.entry.path
    home = entry.rpartition("/")[0]
    return [
        {
            "path": file.path.removeprefix(f"{home}/") if home else file.path,
            "url": version_head.place(version, "version-file", file.path),
            "bytes": file.blob.size,
            "entry": file.path == entry,
        }
        for file in version_head.own_model(version, variant)
    ]
