"""The form that begins a training; whether it is allowed, services say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from frontend.presenters.forms import offer
from hub.protocol import privacy
from hub.protocol.training_rules import FEDAVG, RULES
from registry.federated.models import Training

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_RULE_FIELDS = ("noise_multiplier", "clip_norm", "delta")
_SCHEDULE_FIELDS = ("quorum", "target", "round_seconds", "most_rounds")


class TrainingForm(forms.Form):
    """What most trainings need; the API has every other rule."""

    version = forms.TypedChoiceField(label="Base version", coerce=int)
    title = forms.CharField(label="Title", max_length=200, required=False)
    rule = forms.ChoiceField(
        label="Rule", choices=[(name, RULE_WORDS[name]) for name in RULES], initial=FEDAVG
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
    round_seconds = forms.IntegerField(label="Round length in seconds", min_value=1, initial=3600)
    most_rounds = forms.IntegerField(
        label="Number of rounds", min_value=0, initial=0, help_text="0: until finished manually."
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

    def __init__(self, *args: Any, versions: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "version", ((number, f"version {number}") for number in versions))

    @property
    def rules(self) -> dict[str, Any]:
        """The rules, without what was left empty."""
        values = {name: self.cleaned_data[name] for name in _RULE_FIELDS}
        filled = {name: value for name, value in values.items() if value is not None}
        return {"rule": self.cleaned_data["rule"], **filled}

    @property
    def schedule(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in _SCHEDULE_FIELDS}
