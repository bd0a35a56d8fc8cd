"""Models that tokens deleted, which owners of the namespace can restore for some days."""

from __future__ import annotations

from registry.api.operations import View, command, resource, rows
from registry.api.outputs import Column, Columns, Output
from registry.models import RegisteredModel
from registry.people import selectors as people_selectors
from registry.versions import selectors
from registry.versions.services import deletions, registered_models


class DeletedModelOutput(Output[RegisteredModel]):
    """A deleted model, by the id that the address needs; without times once it is restored."""

    columns = Columns("id", Column("model", "ref", kind=str), "deleted_at", "restorable_until")


class DeletedModels(View):
    """The deleted models of a namespace; for its owners, with a session or scope `admin`."""

    targets = ("model",)
    namespace = resource(people_selectors.own_namespace, "slug")
    model = resource(selectors.deleted_model, "namespace", "model_id")

    index = rows(
        "deleted_models_list",
        selectors.deleted_models,
        "List deleted models that can be restored, the newest model first; for owners.",
        DeletedModelOutput,
        by="id",
        targets=("namespace",),
    )
    restore = command(
        "deleted_models_restore",
        registered_models.restore,
        "Restore a deleted model with its name and all that belonged to it; for owners.",
        DeletedModelOutput,
    )
    erase = command(
        "deleted_models_erase",
        deletions.erase,
        "Delete a deleted model permanently, before its time is up; for owners.",
    )
