"""A change between two graphs, in full and for readers without access to the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hub.protocol import stored

# Attributes of these types, and all attributes of constants, may contain weights.
_WEIGHTY = frozenset({"float", "floats", "strings", "tensor", "tensors"})
_HOLDERS = frozenset({"Constant", "ConstantOfShape"})


def is_weighty(operator: str, kind: str) -> bool:
    """Whether the value of an attribute may be weights, which only readers of the files may see."""
    return operator in _HOLDERS or kind in _WEIGHTY


@dataclass(frozen=True, slots=True)
class Change:
    """What changed (an operator, attribute, input, weight, shape …), with both values as text.

    ``kinds`` are the types of an attribute's values; empty in reports of before types were listed.
    ``norm`` is that of a tensor's change over that of its values, None where it is unknown;
    ``has_norm`` tells whether values were compared.
    """

    what: str
    name: str
    before: str
    after: str
    kinds: tuple[str, ...] = ()
    has_norm: bool = False
    norm: float | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Change:
        """Read a change of a stored report; what is absent or malformed is empty."""
        kinds, norm = row.get("kinds"), row.get("norm")
        return cls(
            what=stored.text(row.get("what")),
            name=stored.text(row.get("name")),
            before=stored.text(row.get("before")),
            after=stored.text(row.get("after")),
            kinds=tuple(map(str, kinds)) if isinstance(kinds, list) and len(kinds) == 2 else (),
            has_norm="norm" in row,
            norm=norm if stored.is_number(norm) else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The row of a report."""
        row = {"what": self.what, "name": self.name, "before": self.before, "after": self.after}
        kinds = {"kinds": list(self.kinds)} if self.kinds else {}
        return row | kinds | ({"norm": self.norm} if self.has_norm else {})

    def without_weights(self, operators: Iterable[str]) -> Change:
        """The change of an attribute by types alone if a value on either side may be weights.

        ``operators`` are those of the node, before and after. Without types all values are hidden.
        """
        if self.what != "attribute":
            return self
        if self.kinds and not any(is_weighty(op, kind) for op in operators for kind in self.kinds):
            return self
        kinds = self.kinds or ("not shown", "not shown")
        before, after = (f"({kind})" if kind else "" for kind in kinds)
        return replace(self, before=before, after=after)
