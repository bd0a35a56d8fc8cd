"""Polynomials of a model's free dimensions, by evaluation at points and solving for the terms.

Costs are sums of products of dimensions, and dimensions are nearly always polynomials of the free
ones, so a function of total degree 3 is determined by its values at as many points as it has terms;
further points show whether it holds elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

DEGREE = 3
# More free dimensions have a fixed size: the number of points grows with the third power.
MOST_SYMBOLS = 4
# Choices of a function, and alternatives of a choice, that stay apart; others become a bound.
MOST_CHOICES, MOST_ALTERNATIVES = 8, 8

# The exponent of each symbol in a term.
Powers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Terms with their coefficients; no terms is zero."""

    terms: tuple[tuple[Powers, Fraction], ...] = ()

    def at(self, sizes: Sequence[int]) -> Fraction:
        """The value for these sizes, one for each symbol."""
        return sum(
            (
                factor * math.prod(size**power for size, power in zip(sizes, powers, strict=True))
                for powers, factor in self.terms
            ),
            Fraction(),
        )

    def __add__(self, other: Polynomial) -> Polynomial:
        factors = dict(self.terms)
        for powers, factor in other.terms:
            factors[powers] = factors.get(powers, Fraction()) + factor
        return _of(factors)

    def is_at_most(self, other: Polynomial) -> bool:
        """Whether no term exceeds the other's, so that it is smaller for all positive sizes."""
        factors = dict(other.terms)
        return all(factor <= factors.get(powers, 0) for powers, factor in self.terms) and all(
            factor >= 0 for factor in factors.values()
        )

    def to_json(self, symbols: Sequence[str]) -> list[list[object]]:
        """Terms as [coefficient, {symbol: power}]; a non-integer coefficient is a float."""
        return [
            [
                int(factor) if factor.denominator == 1 else float(factor),
                {name: power for name, power in zip(symbols, powers, strict=True) if power},
            ]
            for powers, factor in self.terms
        ]


def upper(polynomials: Iterable[Polynomial]) -> Polynomial:
    """A polynomial that none of these exceeds for sizes from 0 up: the greatest of each factor."""
    rows = [dict(polynomial.terms) for polynomial in polynomials]
    factors = {
        powers: max(row.get(powers, Fraction()) for row in rows)
        for powers in dict.fromkeys(powers for row in rows for powers in row)
    }
    return _of(factors)


def _of(factors: Mapping[Powers, Fraction]) -> Polynomial:
    return Polynomial(
        tuple((powers, factor) for powers, factor in sorted(factors.items()) if factor)
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """A polynomial plus the greatest of the alternatives of each choice."""

    plain: Polynomial = Polynomial()
    choices: tuple[tuple[Polynomial, ...], ...] = ()

    @classmethod
    def of(cls, plain: Polynomial, choices: Iterable[Iterable[Polynomial]]) -> Cost:
        """The cost without alternatives that others exceed, and with few choices."""
        apart: list[tuple[Polynomial, ...]] = []
        for choice in choices:
            largest = greatest(choice)
            if len(largest) > 1 and len(apart) < MOST_CHOICES and len(largest) <= MOST_ALTERNATIVES:
                apart.append(largest)
            else:
                plain += upper(largest)
        return cls(plain, tuple(apart))

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        costs = list(costs)
        plain = sum((cost.plain for cost in costs), Polynomial())
        return cls.of(plain, (choice for cost in costs for choice in cost.choices))

    @property
    def bound(self) -> Polynomial:
        """A polynomial that is at least this cost for sizes from 0 up."""
        return sum(map(upper, self.choices), self.plain)

    def at(self, sizes: Sequence[int]) -> Fraction:
        """The value for these sizes, one for each symbol."""
        dearest = (max(each.at(sizes) for each in choice) for choice in self.choices)
        return self.plain.at(sizes) + sum(dearest)

    def to_json(self, symbols: Sequence[str]) -> list[object]:
        """The terms of `plain`, then {"max": [terms, …]} for each choice."""
        choices = [{"max": [each.to_json(symbols) for each in choice]} for choice in self.choices]
        return [*self.plain.to_json(symbols), *choices]


def greatest(functions: Iterable[Polynomial]) -> tuple[Polynomial, ...]:
    """Functions that no other exceeds for all sizes."""
    largest: list[Polynomial] = []
    for function in dict.fromkeys(functions):
        if any(function.is_at_most(other) for other in largest):
            continue
        largest = [other for other in largest if not other.is_at_most(function)] + [function]
    return tuple(largest)


class Fitter:
    """Fits functions of some symbols; the points are the same for all functions."""

    def __init__(self, symbols: int, lattice: int) -> None:
        self._terms = [
            powers
            for powers in itertools.product(range(DEGREE + 1), repeat=symbols)
            if sum(powers) <= DEGREE
        ]
        # Powers as points: a principal lattice determines polynomials of its degree uniquely.
        # Strides and patches divide sizes, so the points are multiples of a number they divide.
        self.points = [tuple(lattice * (power + 1) for power in powers) for powers in self._terms]
        self._inverse = _inverse([self._row(point) for point in self.points])
        self._by_form: dict[tuple[int, ...], Polynomial] = {}

    def _row(self, point: Sequence[int]) -> list[Fraction]:
        return [
            Fraction(math.prod(size**power for size, power in zip(point, powers, strict=True)))
            for powers in self._terms
        ]

    def fit(self, values: Sequence[int]) -> Polynomial:
        """The polynomial with these values at `points`."""
        key = tuple(values)
        if key not in self._by_form:
            factors = [
                sum(
                    (coefficient * value for coefficient, value in zip(row, key, strict=True)),
                    Fraction(),
                )
                for row in self._inverse
            ]
            self._by_form[key] = Polynomial(
                tuple(
                    (powers, factor)
                    for powers, factor in zip(self._terms, factors, strict=True)
                    if factor
                )
            )
        return self._by_form[key]


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """The exact inverse, by Gauss-Jordan elimination."""
    size = len(matrix)
    rows = [
        [*row, *(Fraction(place == number) for number in range(size))]
        for place, row in enumerate(matrix)
    ]
    for place in range(size):
        pivot = next(number for number in range(place, size) if rows[number][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        head = rows[place][place]
        rows[place] = [value / head for value in rows[place]]
        for number in range(size):
            factor = rows[number][place]
            if number != place and factor:
                rows[number] = [
                    value - factor * above
                    for value, above in zip(rows[number], rows[place], strict=True)
                ]
    return [row[size:] for row in rows]
