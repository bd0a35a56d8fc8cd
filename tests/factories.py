"""Rows made through services, so that no test holds a state that the product cannot reach."""

from __future__ import annotations

import base64
import json
import uuid

from registry.datasets import services
from registry.models import Event, Namespace, Upload, User, Version
from registry.people.services import namespaces, tokens, users
from registry.storage.services import blobs
from registry.storage.services.uploads import LIFETIME
from registry.versions.services import files, registered_models, versions
from runners.engine.onnx_files.describe import METHOD
from runners.engine.reports import Finding, Report
from runners.models import Job
from runners.queue import services as runners
from tests import samples

FACTS = {
    "method": METHOD,
    "opset": 17,
    "ir_version": 8,
    "precision": "fp32",
    "parameters": 12,
    "operators": [
        {"domain": "ai.onnx", "name": "Gemm", "count": 1},
        {"domain": "ai.onnx", "name": "Relu", "count": 1},
    ],
    "barcode": {"categories": ["matmul", "activation"], "cells": [0, 1], "nodes": 2},
    "inputs": [],
    "outputs": [],
}
CARD = """---
license: apache-2.0
pipeline_tag: image-classification
tags: [digits, tiny]
---
# A model

It tells digits apart. It is small.
"""


def json_text(data):
    return "" if data is None else json.dumps(data)


def base64_text(text):
    return base64.b64encode(text.encode()).decode()


def user(name):
    return users.create(username=name, password="a long enough password")


def somebody(name):
    """Somebody of this name, who may be there already."""
    return User.objects.filter(username=name).first() or user(name)


def admin():
    from hub.server.first_run import make_admin

    return make_admin("a long enough password")


def token(of, scopes=("admin",), namespace=None, models=()):
    bound = Namespace.objects.get(slug=namespace) if namespace else None
    return tokens.issue(of, name="test", scopes=scopes, namespace=bound, models=models)[1]


def event(actor, verb="model.edited", **columns):
    """An event of an account, at any time."""
    return Event.objects.create(
        actor=actor, verb=verb, subject_kind="user", subject_id=str(actor.pk), **columns
    )


def namespace(owner, slug="lab"):
    return namespaces.open_for(owner, slug=slug)


def model(owner, name="net", *, slug=None, **described):
    space = Namespace.objects.get(slug=slug or owner.username)
    return registered_models.create(owner, namespace=space, name=name, **described)


def dataset(owner, slug="stones", **described):
    """An entry of a data set in its owner's own namespace."""
    space = Namespace.objects.get(slug=owner.username)
    return services.create(owner, namespace=space, slug=slug, **described)


def dataset_version(owner, of=None, contents=None, *, splits=(), message=""):
    """A version of a data set: one small table unless told otherwise."""
    files = {
        path: blob(owner, content)
        for path, content in (contents or {"test.csv": b"weight,kind\n1.5,0\n"}).items()
    }
    version, _ = services.publish_version(
        owner, dataset=of or dataset(owner), files=files, splits=list(splits), message=message
    )
    return version


def blob(owner, content: bytes) -> str:
    """A blob that its owner uploaded; returns its digest."""
    from django.utils import timezone

    row = blobs.write(content)
    Upload.objects.create(
        owner=owner,
        length=len(content),
        offset=len(content),
        state=Upload.State.STORED,
        blob=row,
        expires_at=timezone.now() + LIFETIME,
    )
    return f"sha256:{row.sha256}"


def draft(owner, of=None, contents=None, *, card=CARD, **fields):
    """A draft with files: one small ONNX model unless told otherwise."""
    of = of or model(owner)
    version = versions.draft(owner, model=of, **fields)
    for path, content in (contents or {"model.onnx": samples.mlp()}).items():
        files.put(owner, version=version, path=path, digest=blob(owner, content))
    if card:
        files.write_card(owner, version=version, text=card)
    return Version.objects.get(pk=version.pk)


def submitted(owner, of=None, contents=None, *, publish=True, **fields):
    """A submitted version whose jobs wait; deliveries are made."""
    from registry.core import outbox

    version = draft(owner, of, contents, **fields)
    version = versions.submit(owner, version=version, publish=publish)
    outbox.deliver()
    return version


def version(owner, of=None, contents=None, *, facts=None, **fields):
    """A published version that lists know, without the jobs and deliveries that would make it."""
    from registry.catalogue import documents
    from registry.versions import lifecycle
    from registry.versions.services import checks
    from runners.consumers import models_of

    told = FACTS | (facts or {})
    version = draft(owner, of, contents, **fields)
    lifecycle.freeze(version, owner, publish=True)
    found = checks.VariantDescription("default", models_of(version)[0], told)
    checks.describe(version=version, manifest_sha256=version.manifest_sha256, variant=found)
    version.checks.update(outcome="passed")
    lifecycle.publish(version, owner)
    documents.refresh(version.model_id)
    return version


def report(kind, outcome="passed", findings=(), facts=None):
    """What a worker answers."""
    verdicts = {
        name: {"verdict": "ok", "message": "", "seconds": 0.01}
        for name in ("scan", "checker", "inference", "load")
    }
    return Report(
        task=kind,
        versions={"onnx": "1.23.2", "onnxruntime": "1.31.1"},
        subject="0" * 64,
        outcome=outcome,
        findings=tuple(findings),
        facts=facts
        if facts is not None
        else (FACTS if kind == "describe" else {"verdicts": verdicts}),
        seconds=0.1,
    )


def work(outcome="passed", *, limit=100, facts=None, version=None):
    """Do every waiting job as a worker would, or those of one version, each with this outcome.

    Returns how many.
    """
    from registry.core import outbox

    done = 0
    outbox.deliver()
    while done < limit and (job := _claim(version)):
        finding = Finding("load-crashed", "error", "crashed: SIGSEGV in runtime load")
        told = facts if job.kind == "describe" else None
        found = report(job.kind, outcome, [finding] if outcome == "failed" else [], told)
        runners.finish(job, found)
        outbox.deliver()
        done += 1
    return done


def _claim(version):
    """The next job, or the next one of this version."""
    worker = f"test-{uuid.uuid4()}"
    if version is None:
        return runners.claim(worker, Job.Pool.values)
    waiting = Job.objects.filter(version=version, state=Job.State.QUEUED)
    jobs = (runners.claim(worker, Job.Pool.values, uuid=job.pk) for job in waiting)
    return next(filter(None, jobs), None)


def published(owner, of=None, contents=None, **fields):
    """A published version, by way of its checks."""
    version = submitted(owner, of, contents, **fields)
    work()
    version.refresh_from_db()
    assert version.state == Version.State.PUBLISHED, version.state
    return version
