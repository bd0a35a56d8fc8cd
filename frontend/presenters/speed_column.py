"""The column of speeds of the list of models: which setup it shows, others, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts.options import Option
from frontend.presenters import figures, measurements
from hub.protocol import filters
from hub.protocol.figures import Kind, Unit, absent
from registry.catalogue import predictions, search, speeds
from registry.catalogue.query import Query
from registry.models import DocumentSpeed, PredictedSpeed, SearchDocument


def of(
    query: Query,
    available: Sequence[speeds.Offer],
    documents: Sequence[SearchDocument],
    *,
    is_first: bool = True,
) -> dict[str, Any] | None:
    """The column of the setup that is chosen, else of the most measured one; None without any.

    ``is_first`` says that the documents are the first page of their list.
    """
    is_chosen, devices = bool(query.device), query[filters.MEASURED_ON]
    setup = query.setup if is_chosen else speeds.settled(available, query.setup, devices)
    if not setup.device:
        return None
    offers = list(available)
    if setup not in [offer.setup for offer in offers]:
        offers.append(speeds.Offer(setup, setup.device, 0))
    title = next(offer.device_title for offer in offers if offer.setup == setup)
    runtime = measurements.runtime(setup.runtime, setup.provider)
    pks = [document.pk for document in documents]
    rows: dict[int, DocumentSpeed | PredictedSpeed] = {}
    rows |= predictions.of_documents(pks, setup)
    rows |= speeds.of_documents(pks, setup)
    parameters = {"device": setup.device, "runtime": setup.runtime}
    return {
        "setup": setup,
        "device": title,
        "runtime": runtime,
        "choices": tuple(_choice(offer, setup, is_chosen=is_chosen) for offer in offers),
        "cells": {document.pk: _cell(document, rows.get(document.pk)) for document in documents},
        "rows": rows,
        "ordered": query.sort == search.FASTEST,
        "is_measured": not is_first or any(_is_accepted(row) for row in rows.values()),
        "across_url": f"{reverse('benchmarks')}?{urlencode(parameters)}",
    }


def words(offer: speeds.Offer) -> str:
    """A setup in words: Example CPU, 2 cores, ONNX Runtime CPU."""
    runtime = measurements.runtime(offer.setup.runtime, offer.setup.provider)
    return f"{offer.device_title}, {runtime}" if runtime else offer.device_title


def _choice(offer: speeds.Offer, setup: speeds.Setup, *, is_chosen: bool) -> Option:
    """What is preset has no value, so that it stays out of the address."""
    on = offer.setup == setup
    return Option(words(offer), "/".join(offer.setup) if is_chosen or not on else "", on=on)


def _is_accepted(row: DocumentSpeed | PredictedSpeed) -> bool:
    return row.figure.kind is Kind.MEASURED and row.figure.is_ranked


def _cell(document: SearchDocument, speed: DocumentSpeed | PredictedSpeed | None) -> dict[str, Any]:
    latest = document.latest
    if speed is None or latest is None:
        return {
            "p50": absent(Unit.MILLISECOND),
        }
    if isinstance(speed, PredictedSpeed):
        basis = f"Predicted from {formatting.plural(speed.models_measured, 'measured model')}."
        return {
            "p50": speed.figure,
            "basis": f"{basis} Its interval: {figures.interval_basis(speed.figure)}.",
        }
    place = [document.namespace_slug, document.model.name, latest["number"], speed.result]
    return {
        "p50": speed.figure,
        "url": reverse("benchmark", args=place),
    }
