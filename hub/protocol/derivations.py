"""How one model is made from another, in the words of every page, graph and API label.

`hub/protocol/variants.py` has the kinds of variants, each with its derivation. Cards name theirs
in `base_model_relation` or `co2_eq_emissions.training_type`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hub.protocol.cards import Card


@dataclass(frozen=True, slots=True)
class Derivation:
    """What was done to a model: "quantised", "quantisation", and its class in the vocabulary.

    The adjective of what the hub itself makes is also the `origin` of the variant.
    """

    adjective: str
    noun: str
    term: str


UPGRADE: Final = Derivation("upgraded", "upgrade", "Upgrade")
CONVERSION: Final = Derivation("converted", "conversion", "Conversion")
QUANTISATION: Final = Derivation("quantised", "quantisation", "Quantization")
FINE_TUNING: Final = Derivation("fine-tuned", "fine-tuning", "Finetuning")
MERGE: Final = Derivation("merged", "merge", "Merge")
TRAINING: Final = Derivation("trained", "training", "Training")

# Values of `base_model_relation`.
RELATIONS: Final = {
    "adapter": FINE_TUNING,
    "finetune": FINE_TUNING,
    "merge": MERGE,
    "quantized": QUANTISATION,
}
_TRAINING_TYPES: Final = {
    "pre-training": TRAINING,
    "pretraining": TRAINING,
    "training": TRAINING,
    "fine-tuning": FINE_TUNING,
    "finetuning": FINE_TUNING,
}


def declared(card: Card) -> Derivation | None:
    """How a card says that its model was made; None where it says nothing known."""
    return RELATIONS.get(card.relation) or _TRAINING_TYPES.get(card.training_type.lower())
