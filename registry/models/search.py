"""What can be listed and searched: a view of a model's rows that can be made again at any time."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from hub.protocol import vocabularies
from hub.protocol.figures import Figure, Kind, Status, Unit
from hub.protocol.intervals import Interval, IntervalMethod
from registry.models.constraints import known_interval, method_of_interval, one_of
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
    macs = models.BigIntegerField(null=True, blank=True)
    memory_bytes = models.BigIntegerField(null=True, blank=True)
    downloads = models.BigIntegerField(
        default=0, help_text="what DownloadCount said some minutes ago, for sorting"
    )
    updated_at = models.DateTimeField()
    carbon_kg = models.FloatField(
        null=True, blank=True, help_text="kilograms of CO2e that training took, as declared"
    )
    accuracy_loss = models.FloatField(
        null=True,
        blank=True,
        help_text="percentage points of accuracy that the best derived variant loses",
    )
    deprecated_at = models.DateTimeField(
        null=True, blank=True, help_text="when the model or its newest version was deprecated"
    )
    proof_rank = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="greater the better its main variant is proven; null where it passes nowhere",
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
            models.Index(fields=["audience", "parameters", "model"], name="search_by_parameters"),
            models.Index(fields=["audience", "macs", "model"], name="search_by_macs"),
            models.Index(fields=["audience", "memory_bytes", "model"], name="search_by_memory"),
            models.Index(
                fields=["audience", "task", "-updated_at", "-model"], name="search_by_task"
            ),
            models.Index(
                fields=["audience", "task", "-proof_rank", "-model"], name="search_by_proof"
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

    document = models.ForeignKey(
        SearchDocument, models.CASCADE, related_name="words", db_index=False
    )
    word = models.CharField(max_length=64)

    class Meta:
        ordering = ["word", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["word", "document"], name="keyword_unique"),
        ]
        # Words of chosen documents are counted from this alone.
        indexes = [models.Index(fields=["document", "word"], name="keyword_of_document")]

    def __str__(self) -> str:
        return self.word


class DocumentFact(models.Model):
    """Something a search can ask for of which a model may have several, such as its operators."""

    document = models.ForeignKey(
        SearchDocument, models.CASCADE, related_name="facts", db_index=False
    )
    group = models.CharField(max_length=16)
    value = models.CharField(max_length=96)

    class Meta:
        ordering = ["group", "value", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "value", "document"], name="documentfact_unique"
            ),
        ]
        # Facts of chosen documents are counted from this alone.
        indexes = [
            models.Index(fields=["document", "group", "value"], name="documentfact_of_document")
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.value}"


class SpeedStatus(models.TextChoices):
    """Whether a result is firm enough for an order by speed, or only shown."""

    ACCEPTED = "accepted"
    NOISY = "noisy"


class DocumentSpeed(models.Model):
    """How fast a listed model ran on one class of machines with one runtime and its provider.

    Where the results themselves are kept is no business of this room: it knows their number.
    """

    Status = SpeedStatus

    document = models.ForeignKey(
        SearchDocument, models.CASCADE, related_name="speeds", db_index=False
    )
    device = models.CharField(max_length=96)
    device_title = models.CharField(max_length=200)
    runtime = models.CharField(max_length=32)
    provider = models.CharField(max_length=64, blank=True, default="")
    status = models.CharField(max_length=8, choices=SpeedStatus.choices)
    p50_ms = models.FloatField()
    p50_low_ms = models.FloatField(null=True, blank=True)
    p50_high_ms = models.FloatField(null=True, blank=True)
    result = models.BigIntegerField(help_text="the id of the result in its version")

    class Meta:
        ordering = ["document", "device", "runtime", "provider"]
        constraints = [
            one_of("status", SpeedStatus, "documentspeed"),
            models.UniqueConstraint(
                fields=["document", "device", "runtime", "provider"], name="documentspeed_unique"
            ),
            models.CheckConstraint(condition=Q(p50_ms__gt=0), name="documentspeed_positive"),
        ]
        indexes = [
            models.Index(
                fields=["device", "runtime", "provider", "status", "p50_ms", "document"],
                name="documentspeed_ranked",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.p50_ms} ms on {self.device} with {self.runtime}"

    @property
    def figure(self) -> Figure:
        """The median as a figure."""
        ends = (self.p50_low_ms, self.p50_high_ms)
        interval = Interval.between(*ends, IntervalMethod.LOG_MEDIANS)
        status = Status(self.status)
        return Figure(self.p50_ms, Unit.MILLISECOND, status=status, interval=interval)


class PredictedSpeed(models.Model):
    """How fast a listed model is predicted to run in a setup in which it was not measured.

    Derived from rows of others: it may be dropped and made again at any time.
    """

    document = models.ForeignKey(
        SearchDocument, models.CASCADE, related_name="predictions", db_index=False
    )
    variant = models.BigIntegerField(help_text="the id of the main variant that it is made for")
    device = models.CharField(max_length=96)
    device_title = models.CharField(max_length=200)
    runtime = models.CharField(max_length=32)
    provider = models.CharField(max_length=64, blank=True, default="")
    p50_ms = models.FloatField()
    low_ms = models.FloatField()
    high_ms = models.FloatField()
    models_measured = models.PositiveIntegerField(help_text="models that the fit was made from")

    class Meta:
        ordering = ["document", "device", "runtime", "provider"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "device", "runtime", "provider"], name="predictedspeed_unique"
            ),
            models.CheckConstraint(
                condition=Q(low_ms__gt=0, low_ms__lte=F("p50_ms"), high_ms__gte=F("p50_ms")),
                name="predictedspeed_in_order",
            ),
        ]
        indexes = [
            models.Index(
                fields=["device", "runtime", "provider", "p50_ms", "document"],
                name="predictedspeed_in_setup",
            ),
        ]

    def __str__(self) -> str:
        return f"about {self.p50_ms} ms on {self.device} with {self.runtime}"

    @property
    def figure(self) -> Figure:
        """The prediction as a figure."""
        interval = Interval(self.low_ms, self.high_ms, IntervalMethod.HELD_OUT)
        return Figure(self.p50_ms, Unit.MILLISECOND, Kind.PREDICTED, interval=interval)


class DocumentAccuracy(models.Model):
    """How good a listed model's main variant is by one metric, measured on a split of a data set.

    The values have the digits that lists and graphs compare, see hub.protocol.accuracy.
    """

    document = models.ForeignKey(
        SearchDocument, models.CASCADE, related_name="accuracies", db_index=False
    )
    metric = models.CharField(max_length=16)
    dataset = models.CharField(max_length=96)
    version = models.PositiveIntegerField(help_text="version of the data set")
    split = models.CharField(max_length=200)
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    rows = models.PositiveIntegerField()
    interval_method = method_of_interval()

    class Meta:
        ordering = ["document", "metric", "dataset", "split"]
        verbose_name_plural = "document accuracies"
        constraints = [
            models.UniqueConstraint(
                fields=["document", "metric", "dataset", "split"], name="documentaccuracy_unique"
            ),
            models.CheckConstraint(
                condition=Q(low__lte=F("high")), name="documentaccuracy_interval"
            ),
            known_interval("documentaccuracy"),
        ]
        indexes = [
            models.Index(
                fields=["metric", "dataset", "value", "document"], name="documentaccuracy_ranked"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value:g} on {self.dataset}@{self.version}:{self.split}"

    @property
    def figure(self) -> Figure:
        """The value as a figure."""
        interval = Interval.stored(self.low, self.high, self.interval_method)
        return Figure(self.value, vocabularies.unit_of(self.metric), interval=interval)


class DocumentFacets(models.Model):
    """All that a listed model counts for in the filters of a list, in one short text.

    The same as its document, keywords and facts say: to count thousands of models, one row of each
    is read and not a dozen.
    """

    document = models.OneToOneField(
        SearchDocument, models.CASCADE, primary_key=True, related_name="facets"
    )
    pairs = models.TextField(
        blank=True, default="", help_text="group:value, one behind the other, see registry.facets"
    )

    class Meta:
        verbose_name_plural = "document facets"

    def __str__(self) -> str:
        return f"{self.document_id}: {self.pairs}"
