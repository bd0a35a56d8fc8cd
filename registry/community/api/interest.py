"""The REST API over likes, and over the models that a user watches."""

from __future__ import annotations

from registry.api.operations import ModelView, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output
from registry.community import interest as services
from registry.models import Watch


class LikesOutput(Output[services.Interest]):
    """The likes of a model."""

    columns = Columns(
        Column("likes", help_text="number of users who like the model"),
        Column("liked", help_text="whether you are one of them"),
    )


class WatchOutput(Output[Watch]):
    """A model that you watch."""

    columns = Columns(Column("model", "model.ref"), "created_at")


class Interest(ModelView):
    """The likes of a model, one for each user, and the models that you watch."""

    interest = resource(services.of_model, "model")

    likes = detail(
        "likes_read",
        LikesOutput,
        "Read the number of likes of a model.",
        targets=("interest",),
    )

    @operation("likes_put", LikesOutput)
    def like(self) -> services.Interest:
        """Like a model. Liking it again changes nothing."""
        services.like(self.request.user, model=self.model)
        return self.interest

    unlike = command("likes_delete", services.unlike, "Remove your like of a model.")
    watch = command(
        "watches_put",
        services.watch,
        "Watch a model. Its new versions and evidence appear on your page of watched models.",
    )
    unwatch = command("watches_delete", services.unwatch, "Stop watching a model.")
    watches = rows(
        "watches_list",
        services.watches,
        "List the models that you watch, the latest first.",
        WatchOutput,
        by="id",
        targets=(),
    )
