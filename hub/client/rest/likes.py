"""The REST operations of likes, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass

from hub.client.rest.calls import Group, model_path


@dataclass(frozen=True, kw_only=True)
class Likes:
    """The likes of a model."""

    # number of users who like the model
    likes: int
    # whether you are one of them
    liked: bool


class LikesGroup(Group):
    """The operations of likes."""

    def delete(self, model: str) -> None:
        """Remove your like of a model."""
        self._do("DELETE", f"models/{model_path(model)}/like")

    def put(self, model: str) -> Likes:
        """Like a model. Liking it again changes nothing."""
        return self._call(Likes, "PUT", f"models/{model_path(model)}/like")

    def read(self, model: str) -> Likes:
        """Read the number of likes of a model."""
        return self._call(Likes, "GET", f"models/{model_path(model)}/like")
