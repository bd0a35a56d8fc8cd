"""What can be listed and searched: a view of a model's rows that can be made again at any time."""

from __future__ import annotations

from django.db import models

from registry.models.registered_models import RegisteredModel

EVERYBODY = 0


class SearchDocument(models.Model):
    """One model as lists show it; the full-text index beside it is the database engine's own."""

    model = models.OneToOneField(
        RegisteredModel, models.CASCADE, primary_key=True, related_name="search_document"
    )
    title = models.CharField(max_length=200)
    audience = models.BigIntegerField(
        help_text="0: everybody; else the id of the namespace whose members alone may see it"
    )
    namespace_slug = models.CharField(max_length=96)
    license = models.CharField(max_length=64, blank=True, default="")
    task = models.CharField(max_length=64, blank=True, default="")
    keywords = models.JSONField(default=list)
    precision = models.CharField(max_length=16, blank=True, default="")
    opset = models.PositiveIntegerField(null=True, blank=True)
    size = models.BigIntegerField(null=True, blank=True)
    parameters = models.BigIntegerField(null=True, blank=True)
    downloads = models.BigIntegerField(default=0)
    updated_at = models.DateTimeField()
    carbon_kg = models.FloatField(
        null=True, blank=True, help_text="kilograms of CO2e that training took, as declared"
    )
    latest = models.JSONField(
        null=True, blank=True, help_text="the newest published version, or null"
    )
    # Last, since SQLite reads a row from its beginning and long text lies on pages of its own.
    body = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["-updated_at", "-pk"]
        # The audience comes first, so that what others keep for themselves is never walked over.
        indexes = [
            models.Index(fields=["audience", "-updated_at", "-model"], name="search_by_updated"),
            models.Index(fields=["audience", "title", "model"], name="search_by_title"),
            models.Index(fields=["audience", "-downloads", "-model"], name="search_by_downloads"),
            models.Index(fields=["audience", "size", "model"], name="search_by_size"),
            models.Index(fields=["audience", "carbon_kg", "model"], name="search_by_carbon"),
            models.Index(
                fields=["audience", "task", "-updated_at", "-model"], name="search_by_task"
            ),
            models.Index(
                fields=["audience", "license", "-updated_at", "-model"], name="search_by_license"
            ),
            models.Index(
                fields=["audience", "namespace_slug", "-updated_at", "-model"],
                name="search_by_namespace",
            ),
            models.Index(fields=["audience", "precision"], name="search_by_precision"),
            models.Index(fields=["audience", "opset"], name="search_by_opset"),
        ]

    def __str__(self) -> str:
        return self.title


class DocumentKeyword(models.Model):
    """One keyword of a listed model, in a row of its own so that a filter can use an index."""

    document = models.ForeignKey(SearchDocument, models.CASCADE, related_name="words")
    word = models.CharField(max_length=64)

    class Meta:
        ordering = ["word", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["word", "document"], name="keyword_unique"),
        ]

    def __str__(self) -> str:
        return self.word


class DocumentFact(models.Model):
    """Something a search can ask for of which a model may have several, such as its operators."""

    document = models.ForeignKey(SearchDocument, models.CASCADE, related_name="facts")
    group = models.CharField(max_length=16)
    value = models.CharField(max_length=96)

    class Meta:
        ordering = ["group", "value", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "value", "document"], name="documentfact_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.value}"
