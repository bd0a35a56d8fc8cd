"""RNN, GRU and LSTM before opset 7."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runners.engine.opsets.rules.rule import rule

if TYPE_CHECKING:
    from runners.engine.opsets.rules.case import Case


@rule("sequence-always-given", "RNN", "GRU", "LSTM", source=6, target=7, accepts=1)
def drop_output_sequence(case: Case) -> None:
    # Which outputs are wanted is said by their names alone from here on. What opset 1 misspelt as
    # "foward" was the default, and stays it.
    direction = case.attribute("direction")
    case.again("output_sequence", *(["direction"] if direction == "foward" else []))
