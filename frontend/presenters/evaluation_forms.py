"""The form that asks for an evaluation: a variant, and a split of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django import forms

from frontend.presenters.forms import offer

if TYPE_CHECKING:
    from registry.models import DatasetVersion, Variant


class EvaluationForm(forms.Form):
    """What is evaluated on what."""

    split = forms.TypedChoiceField(
        label="Data set and split",
        help_text="The newest version of each data set.",
        coerce=lambda text: tuple(text.split("/", 1)),
    )
    variant = forms.ChoiceField(label="Variant")

    def __init__(
        self,
        *args: Any,
        datasets: Iterable[DatasetVersion] = (),
        variants: Sequence[Variant] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        places = [(row.dataset, split) for row in datasets for split in row.typed_splits]
        offer(
            self,
            "split",
            (
                (f"{dataset.slug}/{split.name}", f"{dataset.title}, {split.name}: {split.task}")
                for dataset, split in places
            ),
        )
        offer(self, "variant", ((row.name, row.name) for row in variants))
