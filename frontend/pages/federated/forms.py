"""The forms of trainings and fleets; whether what they ask for is allowed, services say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS

from frontend.presenters.forms import offer
from hub.protocol import federated, privacy
from hub.protocol.training_rules import FEDAVG, PARAMETERS, RULES, Rules
from registry.federated.models import Training
from registry.federated.models.fleets import NAME
from registry.federated.schedule import Schedule
from registry.federated.services.participants import LONGEST_DAYS, MOST_USES
from registry.federated.services.trainings import LONGEST_PATTERN, MOST_PATTERNS

# Each rule in words; what it withstands stands beside it, as measured.
RULE_WORDS = {
    "fedavg": "weighted mean (FedAvg)",
    "fedavgm": "weighted mean with momentum (FedAvgM)",
    "fedadam": "Adam on the mean (FedAdam)",
    "fedyogi": "Yogi on the mean (FedYogi)",
    "fedadagrad": "Adagrad on the mean (FedAdagrad)",
    "median": "median, value by value",
    "trimmed-mean": "trimmed mean, value by value",
    "multi-krum": "multi-Krum",
    "geometric-median": "geometric median",
}
_BASE_DATA = {
    Training.BaseData.UNKNOWN: "unknown, or data of participants",
    Training.BaseData.UNTRAINED: "nothing: initial weights",
    Training.BaseData.PUBLIC: "public data only, none from participants",
}
_PARAMETER_WORDS = {
    "rate": "Learning rate of the hub",
    "momentum": "Momentum",
    "beta1": "β₁",
    "beta2": "β₂",
    "tau": "τ",
    "trim": "Share trimmed at each end",
    "attackers": "Share of attackers",
    "iterations": "Iterations",
}
_RULE_FIELDS = (
    *("examples_cap", "norm_limit", "max_staleness"),
    *("noise_multiplier", "clip_norm", "delta", "client_certificate", "needs_evaluation"),
)
_SCHEDULE_FIELDS = ("quorum", "target", "cohort", "round_seconds", "most_rounds")
# What is trained: all that the hub recognises, what matches patterns, or all but what matches.
ALL, ONLY, EXCEPT = "all", "only", "except"
_TRAINED = (
    (ALL, "All weights that the hub recognises as trainable"),
    (ONLY, "Only tensors that match the patterns, for example an adapter or the last layer"),
    (EXCEPT, "All trainable tensors except those that match the patterns"),
)
_SHORT = {"rows": 3, "class": "short", "spellcheck": "false"}
_RELEASE_BEST = (("", "no"), ("highest", "the highest score"), ("lowest", "the lowest score"))


class ChoicesForm(forms.Form):
    """A form whose first choices are enough; all other fields have defaults that usually hold."""

    first_choices: ClassVar[tuple[str, ...]] = ()

    @property
    def choices(self) -> list[forms.BoundField]:
        """The fields of the first choices, in their order."""
        return [self[name] for name in self.first_choices]

    @property
    def advanced(self) -> list[forms.BoundField]:
        """All other fields."""
        return [field for field in self if field.name not in self.first_choices]

    @property
    def is_advanced(self) -> bool:
        """Whether another field was changed or refused, so that it must be in sight."""
        touched = {*self.changed_data, *self.errors} if self.is_bound else set()
        return bool(touched - {*self.first_choices, NON_FIELD_ERRORS})


class TrainingForm(ChoicesForm):
    """What most trainings need; the API has every other rule."""

    first_choices = ("version", "quorum", "most_rounds")

    version = forms.TypedChoiceField(label="Base version", coerce=int)
    title = forms.CharField(label="Title", max_length=200, required=False)
    trained = forms.ChoiceField(label="Trained tensors", choices=_TRAINED, initial=ALL)
    patterns = forms.CharField(
        label="Patterns of tensor names",
        required=False,
        widget=forms.Textarea(attrs=_SHORT),
        help_text="One per line, with *, ? and […]: for example classifier.* or *.lora_A. "
        "A pattern that matches no tensor is refused when the file has been read.",
    )
    rule = forms.ChoiceField(
        label="Rule", choices=[(name, RULE_WORDS[name]) for name in RULES], initial=FEDAVG
    )
    examples_cap = forms.IntegerField(
        label="Maximum examples per device",
        min_value=1,
        initial=Rules().examples_cap,
        help_text="The most that one device can really have. A device that claims more is refused.",
    )
    norm_limit = forms.FloatField(
        label="Largest norm of an update",
        required=False,
        help_text="A longer update is refused. Empty: no limit. Either way, updates are "
        "shortened to the running median of norms.",
    )
    max_staleness = forms.IntegerField(
        label="Rounds that a contribution may be late",
        min_value=0,
        required=False,
        initial=Rules().max_staleness,
        help_text="0: it counts only for the round that the device started with.",
    )
    client_certificate = forms.BooleanField(
        label="Only devices with a TLS client certificate", required=False
    )
    needs_evaluation = forms.BooleanField(
        label="Release a round only if it is not worse on most devices", required=False
    )
    quorum = forms.IntegerField(
        label="Quorum",
        min_value=1,
        initial=3,
        help_text="Minimum number of contributions per round. Choose three or more.",
    )
    target = forms.IntegerField(
        label="Target",
        min_value=0,
        initial=0,
        help_text="A round closes when it has this many contributions. 0: at the deadline only.",
    )
    cohort = forms.IntegerField(
        label="Devices sampled per round",
        min_value=0,
        initial=0,
        help_text="0: all participants. Otherwise at least the quorum and the target.",
    )
    round_seconds = forms.IntegerField(label="Round length in seconds", min_value=1, initial=3600)
    most_rounds = forms.IntegerField(
        label="Number of rounds", min_value=0, initial=0, help_text="0: until finished manually."
    )
    hyperparameters = forms.JSONField(
        label="Hyperparameters",
        required=False,
        initial=dict,
        widget=forms.Textarea(attrs=_SHORT),
        help_text='A JSON object that devices get unchanged, for example {"epochs": 2}.',
    )
    noise_multiplier = forms.FloatField(
        label="Noise multiplier",
        required=False,
        help_text="Gaussian noise in units of the clipping norm; empty: no differential privacy.",
    )
    clip_norm = forms.FloatField(
        label="Clipping norm",
        required=False,
        help_text="Maximum norm of each update. Required with noise.",
    )
    delta = forms.FloatField(
        label="Delta",
        required=False,
        help_text=f"δ for the stated ε: at most {privacy.MOST_DELTA:g}, and well below one "
        f"divided by the number of devices; {privacy.DEFAULT_DELTA:g} if empty.",
    )
    base_data = forms.ChoiceField(
        label="What the base version was trained on",
        choices=list(_BASE_DATA.items()),
        help_text="Your declaration for an uploaded version. Without it, no ε is stated.",
    )

    release_every = forms.IntegerField(
        label="Rounds per released version",
        min_value=0,
        initial=10,
        help_text="0: only on request, and at the end of a fixed number of rounds.",
    )
    release_best = forms.ChoiceField(
        label="Release the best round at the end, by",
        choices=_RELEASE_BEST,
        required=False,
        help_text="Scores on held-out data, which maintainers report through the API.",
    )
    release_publishes = forms.BooleanField(
        label="Publish released versions when their checks pass", required=False, initial=True
    )

    def __init__(self, *args: Any, versions: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "version", ((number, f"version {number}") for number in versions))
        for name, label in _PARAMETER_WORDS.items():
            self.fields[name] = forms.FloatField(
                label=label, required=False, help_text=_defaults(name)
            )
        if not settings.HUB_CERTIFICATE_PROXIES:
            del self.fields["client_certificate"]  # no proxy could verify one

    def clean_patterns(self) -> list[str]:
        """The patterns, within the bounds that services have."""
        patterns = [line.strip() for line in self.cleaned_data["patterns"].splitlines()]
        patterns = [pattern for pattern in patterns if pattern]
        if len(patterns) > MOST_PATTERNS or any(
            len(pattern) > LONGEST_PATTERN for pattern in patterns
        ):
            raise forms.ValidationError(
                f"Enter at most {MOST_PATTERNS} patterns of up to {LONGEST_PATTERN} characters."
            )
        trained = self.cleaned_data.get("trained")
        if patterns and trained == ALL:
            raise forms.ValidationError(
                "All weights are trained, so patterns have no effect. Choose “only” or “except”, "
                "or remove the patterns."
            )
        if not patterns and trained in (ONLY, EXCEPT):
            raise forms.ValidationError("Enter at least one pattern, or choose all weights.")
        return patterns

    def clean_hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters; none where the field is empty."""
        value = self.cleaned_data["hyperparameters"]
        if value is not None and not isinstance(value, dict):
            raise forms.ValidationError('Enter a JSON object, for example {"epochs": 2}.')
        return value or {}

    @property
    def roles(self) -> dict[str, list[str]]:
        """Patterns by role; trainable takes precedence over frozen."""
        patterns = self.cleaned_data["patterns"]
        return {
            ALL: {},
            ONLY: {federated.FROZEN: ["*"], federated.TRAINABLE: patterns},
            EXCEPT: {federated.FROZEN: patterns},
        }[self.cleaned_data["trained"]]

    @property
    def rules(self) -> Rules:
        """The rules, with defaults for what was left empty; raises InvalidRequest."""
        rule, parameters = self.cleaned_data["rule"], self._filled(_PARAMETER_WORDS)
        return Rules.from_json(
            {"rule": rule, "parameters": parameters, **self._filled(_RULE_FIELDS)}
        )

    @property
    def parameters(self) -> list[forms.BoundField]:
        """The fields of the parameters that some rule has."""
        return [self[name] for name in _PARAMETER_WORDS]

    def _filled(self, names: Iterable[str]) -> dict[str, Any]:
        values = {name: self.cleaned_data.get(name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def schedule(self) -> Schedule:
        """The schedule; raises InvalidRequest."""
        return Schedule.from_json({name: self.cleaned_data[name] for name in _SCHEDULE_FIELDS})

    @property
    def release(self) -> dict[str, Any]:
        """When a round becomes a version."""
        names = ("release_every", "release_best", "release_publishes")
        return {name: self.cleaned_data[name] for name in names}


def _defaults(parameter: str) -> str:
    """The rules that have a parameter, each with its default."""
    defaults = [
        f"{bounds[parameter][0]:g} ({rule})"
        for rule, bounds in PARAMETERS.items()
        if parameter in bounds
    ]
    return f"Default: {', '.join(defaults)}."


class InviteForm(forms.Form):
    """An invitation for a number of devices."""

    uses = forms.IntegerField(
        label="Devices",
        min_value=1,
        max_value=MOST_USES,
        initial=1,
        help_text="The number of devices that can join with the link.",
    )
    group = forms.CharField(
        label="Group",
        max_length=64,
        required=False,
        help_text="Shown beside these participants, for example the name of a hospital.",
    )
    expires_days = forms.IntegerField(
        label="Valid for (days)", min_value=1, max_value=LONGEST_DAYS, initial=30
    )


class RolloutForm(ChoicesForm):
    """The version that devices of a fleet run, and how many of them."""

    version = forms.TypedChoiceField(label="Version", coerce=int)
    percent = forms.IntegerField(
        label="Share of devices (%)",
        min_value=0,
        max_value=100,
        initial=10,
        help_text="Start small, then increase: devices that have the version keep it.",
    )
    required_by = forms.DateField(
        label="Required by",
        required=False,
        widget=forms.DateInput(attrs={"placeholder": "YYYY-MM-DD", "autocomplete": "off"}),
        help_text="YYYY-MM-DD, the end of the day in UTC. Devices get it with the version.",
    )

    def __init__(self, *args: Any, versions: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "version", ((number, f"version {number}") for number in versions))

    def clean_required_by(self) -> datetime | None:
        """The end of the day."""
        day = self.cleaned_data["required_by"]
        return None if day is None else datetime.combine(day, time.max, UTC)


class FleetForm(RolloutForm):
    """A new fleet and its first rollout, which may come later."""

    first_choices = ("name", "version", "percent")

    name = forms.RegexField(
        NAME,
        label="Name",
        help_text="Lower-case letters, digits and hyphens, up to 64 characters.",
        error_messages={
            "invalid": "Use 1 to 64 lower-case letters, digits and hyphens, with a letter or digit "
            "at each end."
        },
    )
    halt_percent = forms.IntegerField(
        label="Halt at failures (%)",
        min_value=0,
        max_value=100,
        initial=20,
        help_text="When this share of at least five reports are failures, the rollout is halted "
        "and devices get the previous version. 0: never.",
    )
    version = forms.TypedChoiceField(label="Version", coerce=int, required=False, empty_value=None)

    def __init__(self, *args: Any, versions: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        numbers = ((number, f"version {number}") for number in versions)
        offer(self, "version", [("", "none yet"), *numbers])
