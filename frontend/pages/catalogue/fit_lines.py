"""Why each model of a list fits, in words: the value of each constraint that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frontend.presenters import figures, list_filters
from hub.protocol import filters
from hub.protocol.figures import Figure
from hub.protocol.vocabularies import unit_of
from registry.catalogue import accuracies, fits
from registry.catalogue.fits import Evaluated, Fit
from registry.catalogue.query import Query
from registry.models import DocumentSpeed, PredictedSpeed, SearchDocument


def of(
    query: Query,
    documents: Sequence[SearchDocument],
    speeds: Mapping[int, DocumentSpeed | PredictedSpeed],
) -> dict[int, tuple[str, ...]]:
    """The values of each document for what the query asks for, by its key; empty for no question.

    ``speeds`` are those in the query's setup.
    """
    if not fits.are_asked(query):
        return {}
    accuracy = accuracies.of_documents([row.pk for row in documents], query.accuracy)
    return {
        row.pk: tuple(
            _words(fit, speeds.get(row.pk))
            for fit in fits.of(
                query,
                row.latest,
                task=row.task,
                licence=row.license,
                speed=speeds.get(row.pk),
                accuracies=accuracy.get(row.pk, ()),
            )
        )
        for row in documents
    }


def _words(fit: Fit, speed: DocumentSpeed | PredictedSpeed | None) -> str:
    if fit.evaluated is not None:
        return _accuracy(fit, fit.evaluated)
    filter_ = filters.FILTERS[fit.constraint]
    if filter_ is not filters.MAX_LATENCY or speed is None:
        words = list_filters.words(filter_, str(fit.value))
        return filter_.words.format(words) if isinstance(filter_, filters.Bound) else words
    of = speed.figure
    return ", ".join(filter(None, (f"p50 {figures.text(of)}{_ends(of)}", figures.note(of))))


def _accuracy(fit: Fit, of: Evaluated) -> str:
    figure = Figure(float(fit.value), unit_of(of.metric), interval=fit.interval)
    words = f"{figures.title(of.metric)} {figures.text(figure)}{_ends(figure)}"
    return f"{words} on {of.dataset}@{of.version}, {of.split}"


def _ends(figure: Figure) -> str:
    return f" [{figures.interval(figure)}]" if figure.interval else ""
