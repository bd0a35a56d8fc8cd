"""The API of starter models: what packages hold, what is here, and the import of one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field

from registry.api.operations import View, operation, rows
from registry.api.outputs import Column, Columns, Digest, Output, answers_of
from runners.starter import imports, selectors
from runners.starter.manifest import Package
from runners.starter.selectors import StarterModel


class PackageOutput(Output[Package]):
    """A package that files of a model are taken from."""

    columns = Columns(
        "name",
        "version",
        Column("archive", help_text="file name of the archive"),
        Column("size", help_text="bytes of the archive"),
        Column("sha256", field=Digest),
        Column("is_stored", kind=bool, help_text="whether the hub stores the archive already"),
    )

    def get_is_stored(self, package: Package) -> bool:
        return imports.is_stored(package)


class StarterModelOutput(Output[StarterModel]):
    """A model of the manifest, and what became of its import."""

    columns = Columns(
        Column("name", "model.name"),
        Column("summary", "model.summary"),
        Column("task", "model.task"),
        Column("license", "model.licences.weights", help_text="licence of the weights"),
        Column("code_license", "model.licences.code", help_text="licence of the package's code"),
        Column("is_first", "model.is_first", help_text="whether `--starter` imports it"),
        Column("size", "model.size", help_text="bytes of its packages"),
        "state",
        Column("progress", help_text="per cent of a running import"),
        Column("detail", help_text="why the import failed, or its current step; may be empty"),
        Column("ref", help_text="the version; empty if there is none"),
        "packages",
    )

    @extend_schema_field(PackageOutput(many=True))
    def get_packages(self, row: StarterModel) -> Any:
        return answers_of(PackageOutput, row.model.packages)


class StarterModels(View):
    """The models that administrators import from packages."""

    index = rows(
        "starter_list",
        selectors.starter_models,
        "List the models that can be imported from packages; for administrators.",
        StarterModelOutput,
    )

    @operation("starter_read", StarterModelOutput)
    def read(self) -> StarterModel:
        """Read the state of a model and its import."""
        return selectors.starter_model(self.request.user, self.kwargs["name"])

    @operation("starter_import", StarterModelOutput, status=202)
    def request_import(self) -> StarterModel:
        """Import a model from its packages; an import that is queued already is returned."""
        name = self.kwargs["name"]
        imports.request(
            self.request.user, model=selectors.starter_model(self.request.user, name).model
        )
        return selectors.starter_model(self.request.user, name)
