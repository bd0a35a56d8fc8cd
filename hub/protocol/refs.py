"""References to models, and the rules every name and path follows.

The grammar lives here and nowhere else: `[namespace/]model[@number|@label|@alias][:variant]`, or
`[namespace/]model@sha256:<64 hex>[:variant]` for a pin that cannot be moved. `@v3` is `@3`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from hub.protocol import bidi, digests, problems

DEFAULT_NAMESPACE = "zoo"
MAX_REFERENCE_CHARACTERS = 512
MAX_PATH_BYTES = 512
MAX_PART_BYTES = 255
MAX_NUMBER = 2**31 - 1

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+/-]{0,126}[A-Za-z0-9])?")
_VARIANT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_NUMBER = re.compile(r"@?v?([1-9][0-9]{0,9})")
_DIGITS = re.compile(r"[0-9]+")
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICE = re.compile(r"con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]")
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a version of a model, and perhaps to one of its variants.

    At most one of `number`, `label` and `digest` is set; none of them means the latest version.
    `label` is whatever the server finds under that word: an alias, a tag, a branch or a label.
    """

    model: str
    namespace: str = DEFAULT_NAMESPACE
    number: int | None = None
    label: str | None = None
    digest: str | None = None
    variant: str | None = None

    def __str__(self) -> str:
        return format(self)

    @property
    def name(self) -> str:
        """`namespace/model`, without version and variant."""
        return f"{self.namespace}/{self.model}"

    @property
    def is_pinned(self) -> bool:
        """Whether the reference names one version permanently (by number or by digest)."""
        return self.number is not None or self.digest is not None


def parse(text: str) -> Ref:
    """Read a reference; raise `InvalidReference`, which says the part at fault and the grammar."""
    if not isinstance(text, str) or not text:
        raise _refused(text, "it is empty")
    if len(text) > MAX_REFERENCE_CHARACTERS:
        raise _refused(text, f"it is longer than {MAX_REFERENCE_CHARACTERS} characters")
    head, at, selector = text.partition("@")
    variant: str | None = None
    if at:
        number, label, digest, variant = _parse_selector(text, selector)
    else:
        number = label = digest = None
        head, colon, variant_text = head.partition(":")
        variant = _parse_variant(text, variant_text) if colon else None
    namespace, slash, model = head.rpartition("/")
    if not slash:
        namespace = DEFAULT_NAMESPACE
    for part, what in ((namespace, "namespace"), (model, "model name")):
        if reason := _name_fault(part):
            raise _refused(text, f"its {what} {reason}")
    return Ref(
        namespace=namespace,
        model=model,
        number=number,
        label=label,
        digest=digest,
        variant=variant,
    )


def _parse_selector(
    text: str, selector: str
) -> tuple[int | None, str | None, str | None, str | None]:
    if selector.startswith(digests.PREFIX):
        digest, colon, rest = selector[len(digests.PREFIX) :].partition(":")
        if not digests.is_hex(digest):
            raise _refused(text, "'sha256:' must be followed by 64 hex digits")
        return None, None, digest, _parse_variant(text, rest) if colon else None
    word, colon, rest = selector.partition(":")
    variant = _parse_variant(text, rest) if colon else None
    number = version_number(word)
    if number is not None and not word.startswith("@"):
        return number, None, None, variant
    if _DIGITS.fullmatch(word):
        raise _refused(text, f"{word!r} is not a version number (1, 2, 3, ...)")
    if reason := _label_fault(word):
        raise _refused(text, f"its label {reason}")
    return None, word, None, variant


def _parse_variant(text: str, variant: str) -> str:
    if not _VARIANT.fullmatch(variant):
        raise _refused(
            text,
            "its variant is not made of lower-case letters, digits, '.', '_' and '-' (at most 63)",
        )
    return variant


def _refused(text: object, reason: str) -> problems.InvalidReference:
    return problems.InvalidReference(
        f"{str(text)[:120]!r} is not a reference: {reason}. "
        "Write [namespace/]model[@number|@label|@sha256:<64 hex>][:variant], "
        "for example zoo/resnet50@3:int8."
    )


def format(ref: Ref) -> str:  # noqa: A001  (read as refs.format)
    """Write a reference, always with its namespace; `parse` reads it back unchanged."""
    text = ref.name
    if ref.digest is not None:
        text += f"@{digests.PREFIX}{ref.digest}"
    elif ref.number is not None:
        text += f"@{ref.number}"
    elif ref.label is not None:
        text += f"@{ref.label}"
    return text if ref.variant is None else f"{text}:{ref.variant}"


def version_number(word: str) -> int | None:
    """The number that a word such as `3`, `v3` or `@3` means as a revision; None for other names.

    Every protocol of the hub asks here, so that such a word means the same version in all of them.
    """
    match = _NUMBER.fullmatch(word)
    number = int(match[1]) if match else 0
    return number if 0 < number <= MAX_NUMBER else None


def check_name(text: str) -> str:
    """Return the name of a namespace or model unchanged, or raise `InvalidName`."""
    if reason := _name_fault(text):
        raise problems.InvalidName(
            f"The name {str(text)[:120]!r} {reason}. Use 1 to 96 letters, digits, '.', '_' or '-', "
            "starting and ending with a letter or digit."
        )
    return text


def check_label(text: str) -> str:
    """Return a label, tag, alias or branch name unchanged, or raise `InvalidName`.

    All digits would read as a version number, so they are refused; so is `sha256`.
    """
    reason = _label_fault(text)
    if not reason and _DIGITS.fullmatch(text):
        reason = "is all digits, which means a version number"
    if not reason and text.lower().startswith("refs/"):
        reason = "begins with 'refs/', as the full names of git do"
    if reason:
        raise problems.InvalidName(
            f"The label {str(text)[:120]!r} {reason}. Use 1 to 128 letters, digits, "
            "'.', '_', '+', '-' or '/', starting and ending with a letter or digit."
        )
    return text


def check_variant(text: str) -> str:
    """Return a variant's name unchanged, or raise `InvalidName`."""
    if not isinstance(text, str) or not _VARIANT.fullmatch(text):
        raise problems.InvalidName(
            f"The variant name {str(text)[:120]!r} is not valid. Use 1 to 63 lower-case letters, "
            "digits, '.', '_' or '-', starting with a letter or digit."
        )
    return text


def check_path(text: str) -> str:
    """Return the path of a file inside a version unchanged, or raise `PathInvalid`."""
    if reason := _path_fault(text):
        raise problems.PathInvalid(
            f"The path {str(text)[:120]!r} {reason}. Use a relative path such as "
            f"'onnx/model.onnx', at most {MAX_PATH_BYTES} bytes."
        )
    return text


def check_portable(paths: Iterable[str], new: Iterable[str] | None = None) -> None:
    """Raise `PathInvalid` where a common system cannot hold the new ones among some paths.

    Windows has reserved names and characters, and drops dots and spaces at an end. Windows and
    macOS take two names for one that differ in case or in the Unicode form of their letters alone.
    Without `new` all are new. Source: Microsoft, "Naming Files, Paths, and Namespaces".
    """
    every = tuple(paths)
    fresh = frozenset(every if new is None else new)
    for path in sorted(fresh):
        for part in path.split("/"):
            if reason := _portability_fault(part):
                raise problems.PathInvalid(
                    f"The path {path[:120]!r} {reason}, so Windows cannot hold the file. Rename it."
                )
    first: dict[str, str] = {}
    for path in sorted(every):
        # A folder may differ from another one as a file does.
        for name in accumulate(path.split("/"), "{}/{}".format):
            other = first.setdefault(_caseless(name), name)
            if other != name and (path in fresh or _is_within(fresh, other)):
                raise problems.PathInvalid(
                    f"The paths {other[:120]!r} and {name[:120]!r} differ only in case or in the "
                    "Unicode form of a letter, so Windows and macOS take them for one. Rename one."
                )


def _is_within(paths: Iterable[str], name: str) -> bool:
    return any(path == name or path.startswith(f"{name}/") for path in paths)


def _caseless(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _portability_fault(part: str) -> str:
    if part[-1:] in {".", " "}:
        return "has a part that ends in a dot or a space"
    if characters := _NOT_ON_WINDOWS.intersection(part):
        return f"has the character {min(characters)!r}"
    stem = part.partition(".")[0].rstrip(" ").lower()
    return f"has the reserved name {stem!r}" if _DEVICE.fullmatch(stem) else ""


def _name_fault(text: str) -> str:
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        return "has characters or a length that names may not have"
    if "--" in text or ".." in text:
        return "holds '--' or '..'"
    if text.lower().endswith(".git"):
        return "ends in '.git'"
    return ""


def _label_fault(text: str) -> str:
    if not isinstance(text, str) or not _LABEL.fullmatch(text):
        return "has characters or a length that labels may not have"
    if ".." in text or "//" in text or "/." in text or "./" in text:
        return "holds '..', '//', '/.' or './'"
    if text.endswith(".lock") or ".lock/" in text:
        return "has a part that ends in '.lock'"
    if text == "sha256":
        return "is the word that starts a digest"
    return ""


def _path_fault(text: str) -> str:
    if not isinstance(text, str) or not text:
        return "is empty"
    if control := bidi.first(text):
        return f"holds the invisible character {control}"
    if any(unicodedata.category(char) in _UNSAFE_CATEGORIES for char in text):
        return "holds a control character"
    if "\\" in text:
        return "holds a backslash"
    if len(text.encode()) > MAX_PATH_BYTES:
        return "is too long"
    return next((reason for part in text.split("/") if (reason := _part_fault(part))), "")


def _part_fault(part: str) -> str:
    if part in {"", ".", ".."}:
        return "is absolute, or has an empty, '.' or '..' part"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"has a part of more than {MAX_PART_BYTES} bytes"
    return "has a part named '.git'" if part.lower() == ".git" else ""
