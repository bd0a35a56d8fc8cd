"""Commits made through the Hub protocol: what their writer may read at once, by their id.

A version is one commit. Until it is public, further commits of the same writer amend it; each of
them stays readable by its id: to writers, and to every reader where there was no model to check.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from registry.models.blobs import Blob
from registry.models.constraints import HEX40, matches
from registry.models.registered_models import RegisteredModel
from registry.models.versions import Version


class Commit(models.Model):
    """A commit as it was made; its version may have become another since."""

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="commits")
    version = models.ForeignKey(Version, models.CASCADE, related_name="commits")
    branch = models.CharField(max_length=100)
    commit_id = models.CharField(max_length=40)
    tree_id = models.CharField(max_length=40)
    message = models.CharField(max_length=500)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="commits")
    created_at = models.DateTimeField()
    precedes_model = models.BooleanField(
        default=False,
        help_text="the repository had no ONNX file up to this commit, so every reader may have it",
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "commit_id"], name="commit_id_unique"),
            matches("commit_id", HEX40, "commit"),
        ]

    def __str__(self) -> str:
        return self.commit_id


class CommitFile(models.Model):
    """A path inside a commit, pointing at a blob."""

    commit = models.ForeignKey(Commit, models.CASCADE, related_name="files")
    path = models.CharField(max_length=512)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="commit_files")
    git_oid = models.CharField(max_length=40)
    lfs = models.BooleanField(default=False)

    # For the interface of a version's file: no commit's file is derived.
    derived = False

    class Meta:
        ordering = ["path", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["commit", "path"], name="commitfile_path_unique")
        ]

    def __str__(self) -> str:
        return self.path


class Branch(models.Model):
    """A branch beside main: where it began, until commits of its own follow.

    Its ref appears with its first version; a branch of a model without versions has none yet.
    """

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="branches")
    name = models.CharField(max_length=100)
    version = models.ForeignKey(
        Version, models.SET_NULL, null=True, blank=True, related_name="branches"
    )
    commit = models.ForeignKey(
        Commit, models.SET_NULL, null=True, blank=True, related_name="branches"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["model", "name"], name="branch_name_unique")]

    def __str__(self) -> str:
        return self.name
