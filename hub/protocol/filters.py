"""The filters of the list of models, each declared once.

Lists, facets, pages, the API, the client, the command line and the graphs read these declarations:
the name of a parameter, what it is compared with, its unit, the words by which people ask for it,
and the property of a version in the graphs. `docs/architecture.md` says which files a new filter
takes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Generic, TypeVar

from hub.protocol import cards
from hub.protocol.attributes import (
    BYTES,
    COUNT,
    MACS,
    MEMORY,
    MILLISECONDS,
    OPERATIONS,
    OPSET_VERSION,
    OPSETS,
    PARAMETERS,
    POINTS,
    SIZE,
    Attribute,
    Quantity,
)
from hub.protocol.figures import Kind
from hub.protocol.sorts import (
    FASTEST,
    FEWEST_OPERATIONS,
    FEWEST_PARAMETERS,
    LEAST_MEMORY,
    SMALLEST,
    Sort,
)
from hub.protocol.vocabularies import LICENCES, RUNTIMES, TASKS, TASKS_OF

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filter(Generic[T]):
    """A filter of the list, whose value in a query is a ``T``.

    ``name`` is its parameter in addresses and in the API, ``title`` its name on pages,
    ``description`` what the API and the command line say of it. ``is_counted`` tells whether lists
    offer its values with the number of models, ``field_type`` the HTML type of its field.
    ``option`` is its name in `hub.find` and, with hyphens, in `hub find`, where these have it.
    """

    nothing: ClassVar[object]
    field_type: ClassVar[str] = "text"
    name: str
    title: str
    description: str
    is_counted: bool = False
    option: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice(Filter[tuple[str, ...]]):
    """A filter whose values are alternatives, or must all hold (``needs_all``).

    ``values`` has the known values with their words; others are refused if it ``is_closed``. The
    values of a model stand in a ``column`` of its search document, else in its facts of the
    filter's name. ``phrases`` are the words of a question for a value; ``basis`` tells where the
    value of a model that fits comes from, if lists show it.
    """

    nothing: ClassVar[tuple[str, ...]] = ()
    column: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    is_closed: bool = False
    needs_all: bool = False
    phrases: Mapping[str, str] = field(default_factory=dict)
    basis: Kind | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bound(Filter[float | None]):
    """A filter by a number that a model must have at most, or exactly (``is_exact``).

    ``steps`` are the bounds that lists offer. A question names it as ``subject``, one of `names`;
    ``needs_subject`` says that a unit alone means another filter, ``means_maximum`` that `20 MB
    memory` is a limit. ``sort`` puts first what keeps it best. ``words`` say what of a value.
    """

    nothing: ClassVar[None] = None
    quantity: Quantity
    attribute: Attribute | None = None
    sort: Sort | None = None
    is_exact: bool = False
    steps: tuple[int, ...] = ()
    subject: str = ""
    names: str = ""
    needs_subject: bool = False
    means_maximum: bool = False
    words: str = "{}"
    example: str = "10M"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text(Filter[str]):
    """A filter by a text that a model's name or summary holds."""

    nothing: ClassVar[str] = ""


_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Day(Text):
    """A filter by a day in UTC, written YYYY-MM-DD: since its beginning, or until its end."""

    field_type: ClassVar[str] = "date"
    is_end: bool = False

    @staticmethod
    def is_day(text: str) -> bool:
        """Whether a text is a day of the calendar that has one after it."""
        return Day._read(text) is not None

    def bound(self, text: str) -> datetime.datetime:
        """The first moment that counts, or with ``is_end`` the first one after all that count.

        Raises ValueError for a text that is no day.
        """
        day = self._read(text)
        if day is None:
            raise ValueError(text)
        day += datetime.timedelta(days=self.is_end)
        return datetime.datetime.combine(day, datetime.time(), datetime.UTC)

    @staticmethod
    def _read(text: str) -> datetime.date | None:
        if not _DAY.fullmatch(text):
            return None
        try:
            day = datetime.date.fromisoformat(text)
        except ValueError:
            return None
        return day if day < datetime.date.max else None


PIXEL_FORMATS: Final = ("Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8")
TASK: Final = Choice(
    name="task",
    title="Task",
    description="task of the model, such as image-classification",
    column="task",
    is_counted=True,
    option="task",
    basis=Kind.CLAIMED,
    values={name: name.replace("-", " ").capitalize() for name in TASKS},
)
PASSES_ON: Final = Choice(
    name="passes_on",
    title="Passes on",
    is_counted=True,
    needs_all=True,
    option="passes_on",
    description="passes on each of these runtimes: at least one check passed and none failed",
    values=RUNTIMES,
)
PRECISION: Final = Choice(
    name="precision",
    title="Precision",
    column="precision",
    is_counted=True,
    option="precision",
    description="precision of the weights, such as fp32 or int8",
    basis=Kind.COUNT,
    values={"fp32": "fp32", "fp16": "fp16", "int8": "int8", "none": "no weights"},
    phrases={
        "fp32": "fp32, float32, single precision",
        "fp16": "fp16, float16, half precision",
        "int8": "int8, 8-bit, 8 bit",
    },
)
OPSET_MAX: Final = Bound(
    name="opset_max",
    title="Maximum opset",
    description="maximum opset version",
    quantity=OPSETS,
    attribute=OPSET_VERSION,
    is_counted=True,
    words="opset {}",
)
OPSET: Final = Bound(
    name="opset",
    title="Opset",
    description="opset version",
    quantity=OPSETS,
    attribute=OPSET_VERSION,
    is_counted=True,
    is_exact=True,
    words="opset {}",
    subject="opset",
    names="opset",
)
MEASURED_ON: Final = Choice(
    name="measured_on",
    title="Measured on",
    is_counted=True,
    description="benchmarked by a worker of this hub on one of these device classes",
)
LICENCE: Final = Choice(
    name="license",
    title="Licence",
    description="SPDX identifier of the licence",
    column="license",
    is_counted=True,
    option="license",
    basis=Kind.CLAIMED,
    values={name.lower(): name for name in LICENCES},
)
EVIDENCE: Final = Choice(
    name="evidence",
    title="Evidence",
    is_counted=True,
    is_closed=True,
    needs_all=True,
    description="has all of these: carbon (training emissions are declared), federated (made by "
    "federated training), upgrade (a variant with a higher opset is available)",
    values={
        "carbon": "training carbon declared",
        "federated": "trained in federated rounds",
        "upgrade": "opset upgrade ready",
    },
    phrases={
        "federated": "federated learning, federated training, trained federated, "
        "trained in federated rounds, federated model",
        "carbon": "declared carbon, carbon declared, with training carbon",
        "upgrade": "opset upgrade ready, upgrade ready",
    },
)
_LARGE_STEPS: Final = (10**6, 10**7, 10**8, 10**9)
MAX_SIZE: Final = Bound(
    name="max_bytes",
    title="Maximum size",
    quantity=BYTES,
    attribute=SIZE,
    sort=SMALLEST,
    description="maximum total size of the files in bytes",
    is_counted=True,
    option="max_size",
    steps=_LARGE_STEPS,
    words="{} of files",
    example="100MB",
    subject="size",
    names="size, file size, files, file, download, download size, model size, disk, storage",
)
MAX_PARAMETERS: Final = Bound(
    name="max_parameters",
    title="Maximum parameters",
    quantity=COUNT,
    attribute=PARAMETERS,
    sort=FEWEST_PARAMETERS,
    description="maximum number of parameters",
    is_counted=True,
    option="max_parameters",
    steps=_LARGE_STEPS,
    words="{} parameters",
    subject="parameters",
    names="parameters, parameter, params, weights",
    needs_subject=True,
)
MAX_MACS: Final = Bound(
    name="max_macs",
    title="Maximum operations",
    quantity=MACS,
    attribute=OPERATIONS,
    sort=FEWEST_OPERATIONS,
    option="max_macs",
    is_counted=True,
    description="maximum multiply-accumulate operations of a run, for usual sizes",
    steps=(10**7, 10**8, 10**9, 10**10),
    example="1G",
    subject="macs",
    names="macs, mac, operations, ops, multiply-accumulates",
)
MAX_MEMORY: Final = Bound(
    name="max_memory",
    title="Maximum memory",
    quantity=BYTES,
    attribute=MEMORY,
    sort=LEAST_MEMORY,
    option="max_memory",
    is_counted=True,
    description="maximum bytes of weights and activations, for usual sizes",
    steps=(10**7, 10**8, 5 * 10**8, 10**9, 8 * 10**9),
    words="{} of memory",
    example="500MB",
    subject="memory",
    names="memory, ram, peak memory, memory use",
    needs_subject=True,
    means_maximum=True,
)
NAMESPACE: Final = Choice(
    name="namespace",
    title="Namespace",
    description="namespace of the model",
    column="namespace_slug",
    is_counted=True,
)
KEYWORD: Final = Choice(
    name="keyword", title="Keyword", description="keyword of the card", is_counted=True
)
DOMAIN: Final = Choice(
    name="domain",
    title="Domain",
    description="tasks in these domains",
    is_closed=True,
    values={name: name for name in TASKS_OF},
)
OPERATOR: Final = Choice(
    name="operator",
    title="Operator",
    description="uses one of these ONNX operators; outside ai.onnx write `domain.Name`",
)
PIXEL_FORMAT: Final = Choice(
    name="pixel_format",
    title="Pixels",
    description="pixel format stated in the model file",
    is_closed=True,
    values={name: name for name in PIXEL_FORMATS},
)
PERSONAL_DATA: Final = Choice(
    name="personal_data",
    title="Personal data in training",
    is_closed=True,
    description="personal-data status that the card declares for some training data",
    values=cards.PERSONAL_DATA,
    phrases={
        "yes": "trained on personal data, with personal data, uses personal data, personal data",
        "no": "no personal data, without personal data, not trained on personal data, "
        "free of personal data",
        "anonymised": "anonymised data, anonymized data, trained on anonymised data, "
        "anonymised personal data, trained on anonymized data, anonymized personal data",
    },
)
WITHDRAWN_DATA: Final = Choice(
    name="withdrawn_data",
    title="Withdrawn data",
    is_closed=True,
    description="trained on a data set of this hub that was withdrawn",
    values={"yes": "trained on withdrawn data"},
    phrases={"yes": "trained on withdrawn data, withdrawn data, withdrawn data sets"},
)
DERIVED_FROM: Final = Choice(
    name="derived_from",
    title="Derived from",
    description="derived from a public model of this hub, `namespace/name`, directly or through "
    "other public models",
)
RISK: Final = Choice(
    name="risk",
    title="Risk",
    is_closed=True,
    description="risks that the card states: any (stated), none (unstated), one without "
    "mitigation (unmitigated), or one of this severity",
    values={
        "stated": "risks stated",
        "unstated": "no risks stated",
        "unmitigated": "a risk without mitigation",
        "low": "a risk of low severity",
        "medium": "a risk of medium severity",
        "high": "a risk of high severity",
        "critical": "a risk of critical severity",
    },
)
PUBLISHED_SINCE: Final = Day(
    name="published_since",
    title="Published since",
    description="first day in UTC on which the newest version was published, as YYYY-MM-DD",
)
PUBLISHED_UNTIL: Final = Day(
    name="published_until",
    title="Published until",
    description="last day in UTC on which the newest version was published, as YYYY-MM-DD",
    is_end=True,
)
MAX_ACCURACY_LOSS: Final = Bound(
    name="max_accuracy_loss",
    title="Maximum accuracy loss",
    quantity=POINTS,
    option="max_accuracy_loss",
    description="has a variant whose measured accuracy is at most this number of percentage points "
    "below that of the variant it was made from, on all splits on which both were measured",
    words="accuracy loss of {}",
    example="1",
)
FAILS_ON: Final = Choice(
    name="fails_on",
    title="Fails on",
    values=RUNTIMES,
    description="at least one variant fails a check on one of these runtimes",
)
MAX_LATENCY: Final = Bound(
    name="max_p50",
    title="Maximum latency",
    quantity=MILLISECONDS,
    sort=FASTEST,
    option="max_p50",
    example="20ms",
    words="p50 {}",
    description="maximum median latency in milliseconds of an accepted result on the chosen "
    "device, runtime and provider",
    subject="latency",
    names="latency, median latency, p50, inference time, inference, per inference",
)
CONTAINS: Final = Text(
    name="contains",
    title="Name or summary",
    description="text that the name or summary contains, ignoring case",
)
# In the order of pages: first those that the list offers with counts.
FILTERS: Final[dict[str, Choice | Bound | Text]] = {
    filter_.name: filter_
    for filter_ in (
        TASK,
        PASSES_ON,
        PRECISION,
        OPSET_MAX,
        OPSET,
        MEASURED_ON,
        LICENCE,
        EVIDENCE,
        MAX_SIZE,
        MAX_PARAMETERS,
        MAX_MACS,
        MAX_MEMORY,
        NAMESPACE,
        KEYWORD,
        DOMAIN,
        OPERATOR,
        PIXEL_FORMAT,
        PERSONAL_DATA,
        WITHDRAWN_DATA,
        DERIVED_FROM,
        RISK,
        FAILS_ON,
        MAX_LATENCY,
        MAX_ACCURACY_LOSS,
        PUBLISHED_SINCE,
        PUBLISHED_UNTIL,
        CONTAINS,
    )
}
CHOICES: Final = {choice.name: choice for choice in FILTERS.values() if isinstance(choice, Choice)}
BOUNDS: Final = {bound.name: bound for bound in FILTERS.values() if isinstance(bound, Bound)}
DAYS: Final = {day.name: day for day in FILTERS.values() if isinstance(day, Day)}
TEXTS: Final = {text.name: text for text in FILTERS.values() if isinstance(text, Text)}
# The limits of `hub.find`, by the names that these have there.
LIMITS: Final = {bound.option: bound for bound in BOUNDS.values() if bound.option}
