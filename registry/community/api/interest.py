"""The REST API over likes, and over the models that a user watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from registry.api.operations import ModelView, View, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.community import interest
from registry.models import Watch

if TYPE_CHECKING:
    from django.db.models import QuerySet


class LikesOutput(Output[interest.Interest]):
    """The likes of a model."""

    columns = Columns(
        Column("likes", help_text="number of users who like the model"),
        Column("liked", help_text="whether you are one of them"),
    )


class WatchOutput(Output[Watch]):
    """A model that you watch."""

    columns = Columns(Column("model", "model.ref"), "created_at")


class LikeDetail(ModelView):
    """The likes of a model; one for each user."""

    @operation("likes_read", LikesOutput)
    def get(self) -> interest.Interest:
        """Read the number of likes of a model."""
        return interest.of_model(self.request.user, self.model)

    @operation("likes_put", LikesOutput)
    def put(self) -> interest.Interest:
        """Like a model. Liking it again changes nothing."""
        interest.like(self.request.user, model=self.model)
        return interest.of_model(self.request.user, self.model)

    @operation("likes_delete")
    def delete(self) -> None:
        """Remove your like of a model."""
        interest.unlike(self.request.user, model=self.model)


class WatchDetail(ModelView):
    """Your watch of a model."""

    @operation("watches_put")
    def put(self) -> None:
        """Watch a model. Its new versions and evidence appear on your page of watched models."""
        interest.watch(self.request.user, model=self.model)

    @operation("watches_delete")
    def delete(self) -> None:
        """Stop watching a model."""
        interest.unwatch(self.request.user, model=self.model)


class WatchList(View):
    """The models that you watch."""

    @listing("watches_list", WatchOutput, by="id")
    def get(self) -> QuerySet[Watch]:
        """List the models that you watch, the latest first."""
        return interest.watches(self.request.user)
