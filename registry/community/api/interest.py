"""The REST API over likes, and over the models that a user watches."""

from __future__ import annotations

from registry.api.inputs import Input
from registry.api.operations import ModelView, View, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output
from registry.community import digests
from registry.community import interest as services
from registry.models import Watch

_INTERVAL = Column(
    "interval",
    choices=[*digests.Interval.choices, (digests.NEVER, "Never")],
    help_text="never, or news of watched models each day or week",
)


class LikesOutput(Output[services.Interest]):
    """The likes of a model."""

    columns = Columns(
        Column("likes", help_text="number of users who like the model"),
        Column("liked", help_text="whether you are one of them"),
    )


class WatchOutput(Output[Watch]):
    """A model that you watch."""

    columns = Columns(Column("model", "model.ref"), "created_at")


class DigestInput(Input):
    """How often a digest comes."""

    columns = Columns(_INTERVAL)


class DigestOutput(Output[str]):
    """How often a digest of watched models comes by mail."""

    columns = Columns(_INTERVAL)

    def to_representation(self, instance: str) -> dict[str, str]:
        return {"interval": instance}


class Digest(View):
    """The digest of the models that you watch."""

    @operation("watches_digest", DigestOutput)
    def read(self) -> str:
        """Read how often a digest of the models that you watch comes by mail."""
        return digests.interval(self.request.user)

    choose = command(
        "watches_set_digest",
        digests.set_interval,
        "Choose how often a digest of the models that you watch comes by mail.",
        DigestOutput,
        reads=DigestInput,
    )


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
