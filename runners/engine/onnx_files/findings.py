"""Collects findings in order, so many of a kind and no more, however large the upload is."""

from __future__ import annotations

from collections import Counter

from runners.engine.onnx_files import text
from runners.engine.reports import Finding, Severity

_PER_CODE = 5
_WHERE_LIMIT = 300


class Notes:
    """What a scan has to say. Further findings of one code are counted and told in one line."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._seen: Counter[str] = Counter()

    def add(self, code: str, severity: Severity, message: str, where: str = "") -> None:
        self._seen[code] += 1
        if self._seen[code] <= _PER_CODE:
            message = text.clip(message, text.MESSAGE_LIMIT)
            self._findings.append(Finding(code, severity, message, text.clip(where, _WHERE_LIMIT)))

    def refuse(self, code: str, message: str, where: str = "") -> None:
        """Note what makes the model unacceptable; the scan goes on to tell the rest."""
        self.add(code, "error", message, where)

    @property
    def refused(self) -> bool:
        return any(finding.severity == "error" for finding in self._findings)

    def findings(self) -> tuple[Finding, ...]:
        told = list(self._findings)
        for code, count in self._seen.items():
            if count > _PER_CODE:
                severity = next(one.severity for one in told if one.code == code)
                more = count - _PER_CODE
                told.append(Finding(code, severity, f"And {more} more of the same kind."))
        return tuple(told)
