"""Figures of a run that depend on branches: a plain part, and alternatives of which one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from runners.engine.costs.polynomials import Cost, Polynomial


@dataclass(frozen=True, slots=True)
class Amount:
    """Operations or bytes for some sizes: ``plain``, and one alternative of each choice.

    A choice is a branch that is selected by data, so that ``value`` is a bound.
    """

    plain: int = 0
    choices: tuple[tuple[Amount, ...], ...] = ()

    @property
    def value(self) -> int:
        """The most that a run may need."""
        dearest = (max(amount.value for amount in choice) for choice in self.choices)
        return self.plain + sum(dearest)

    def times(self, count: int) -> Amount:
        choices = (tuple(amount.times(count) for amount in choice) for choice in self.choices)
        return Amount(self.plain * count, tuple(choices))

    @classmethod
    def total(cls, amounts: Iterable[Amount]) -> Amount:
        amounts = list(amounts)
        choices = (choice for amount in amounts for choice in amount.choices)
        return cls(sum(amount.plain for amount in amounts), tuple(choices))

    @classmethod
    def one_of(cls, amounts: Sequence[Amount]) -> Amount:
        """One of the amounts, which data select."""
        return amounts[0] if len(amounts) == 1 else cls(0, (tuple(amounts),))

    def parts(self) -> Iterator[int]:
        """Every plain part, from the outside in."""
        yield self.plain
        for choice in self.choices:
            for amount in choice:
                yield from amount.parts()

    def form(self) -> tuple[object, ...]:
        """What amounts of the same choices have in common."""
        return tuple(tuple(amount.form() for amount in choice) for choice in self.choices)


NOTHING = Amount()


def fitted(amounts: Sequence[Amount], fit: Callable[[Sequence[int]], Polynomial]) -> Cost:
    """The function with these amounts at the points of ``fit``: each alternative on its own.

    A maximum of alternatives is no polynomial, so a function fitted to it is right nowhere else.
    """
    if len({amount.form() for amount in amounts}) > 1:  # a branch that sizes select
        return Cost(fit([amount.value for amount in amounts]))
    columns = iter(list(zip(*(amount.parts() for amount in amounts), strict=True)))
    return _built(amounts[0], lambda: fit(next(columns)))


def _built(amount: Amount, next_part: Callable[[], Polynomial]) -> Cost:
    plain = next_part()
    choices = []
    for choice in amount.choices:
        # Choices within a branch become a bound, which keeps the function readable.
        costs = [_built(alternative, next_part) for alternative in choice]
        choices.append(tuple(cost.bound for cost in costs))
    return Cost.of(plain, choices)
