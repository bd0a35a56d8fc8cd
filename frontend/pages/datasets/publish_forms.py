"""The forms of a version of a data set: its files, and how the rows of its splits are read."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.parts import labels
from frontend.presenters.forms import FilesField
from hub.protocol.splits import READERS, TASKS

# As many splits as the form has room for; programs may publish more.
SPLITS = 3


class PublishForm(forms.Form):
    """The files of a version."""

    file = FilesField(label="Files")
    message = forms.CharField(
        label="Changes",
        max_length=500,
        required=False,
        help_text="One line, shown in the list of versions.",
    )


class SplitForm(forms.Form):
    """A split; it has none where its name is empty."""

    name = forms.CharField(
        label="Split", max_length=200, required=False, help_text="For example test."
    )
    task = forms.ChoiceField(label="Task", choices=[(task, labels.task(task)) for task in TASKS])
    reader = forms.ChoiceField(
        label="Format", choices=[(reader, labels.READERS[reader]) for reader in READERS]
    )
    paths = forms.CharField(
        label="Files of the split",
        required=False,
        help_text="Paths, comma-separated. Empty: all files of this version.",
    )
    inputs = forms.CharField(
        label="Inputs",
        required=False,
        help_text="A line for each input of a model: its name, then its columns, such as "
        "x: width, height. Pictures have no columns.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    column = forms.CharField(
        label="Target column", max_length=200, required=False, help_text="Empty for pictures."
    )
    labels = forms.CharField(
        label="Labels",
        required=False,
        help_text="Class names in the order of their numbers, comma-separated.",
    )

    def document(self, paths: list[str]) -> dict[str, Any]:
        """The split as ``hub.protocol.splits`` reads it; ``paths`` are those of the version."""
        fields = self.cleaned_data
        target = {"column": fields["column"], "labels": _parts(fields["labels"])}
        lines = (line.partition(":") for line in fields["inputs"].splitlines() if line.strip())
        return {
            "name": fields["name"],
            "task": fields["task"],
            "reader": fields["reader"],
            "files": _parts(fields["paths"]) or paths,
            "inputs": [{"name": name.strip(), "columns": _parts(rest)} for name, _, rest in lines],
            "target": target,
        }


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
