"""What git's upload-pack does: it lists refs, finds what the other side lacks, and packs it.

Objects are sent whole, without deltas: what is large is a git-LFS pointer here. Source:
gitprotocol-pack and gitprotocol-v2. The pack is written by dulwich.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dulwich.object_format import SHA1
from dulwich.pack import PackChunkGenerator, full_unpacked_object

from hub.protocol import problems
from hub.protocol.refs import version_number
from hub.protocol.version import __version__
from registry.protocols.git import wire
from registry.versions import git_objects
from registry.versions.git_objects import Content, Repository

if TYPE_CHECKING:
    from dulwich.objects import Tree

HEAD = "refs/heads/main"
TAGS = "refs/tags/"
AGENT = f"agent=onnx-hub/{__version__}"
CAPABILITIES = (
    "multi_ack_detailed side-band-64k ofs-delta shallow deepen-relative no-progress "
    f"symref=HEAD:{HEAD} object-format=sha1 {AGENT}"
)
_CUT = "What came before the oldest commit here was withdrawn, or is not published."
_DEEPEST = 2**31 - 1
_UNKNOWN = ("filter", "deepen-since", "deepen-not", "want-ref")


@dataclass
class Wish:
    """What a client asks for, in either protocol."""

    wants: list[str] = field(default_factory=list)
    haves: list[str] = field(default_factory=list)
    shallow: list[str] = field(default_factory=list)
    """Commits whose parents the client lacks."""
    depth: int | None = None
    is_relative: bool = False
    """Whether the depth counts from where the client's history ends, not from the wants."""
    done: bool = False
    capabilities: frozenset[str] = frozenset()


def advertise(refs: dict[str, str], of: Repository) -> Iterator[bytes]:
    """Refs and abilities, in protocol 0."""
    named = _with_head(refs)
    first, *others = [f"{oid} {name}" for name, oid in named.items()] or [
        f"{'0' * 40} capabilities^{{}}"
    ]
    yield wire.line(f"{first}\0{CAPABILITIES}")
    yield from map(wire.line, others)
    yield from (wire.line(f"shallow {commit}") for commit in sorted(of.cut))
    yield wire.FLUSH


def introduce() -> Iterator[bytes]:
    """What can be asked, in protocol 2."""
    for line in ("version 2", AGENT, "ls-refs", "fetch=shallow", "object-format=sha1"):
        yield wire.line(line)
    yield wire.FLUSH


def list_refs(refs: dict[str, str], arguments: list[str]) -> Iterator[bytes]:
    """The answer to `ls-refs`."""
    prefixes = [
        argument.removeprefix("ref-prefix ")
        for argument in arguments
        if argument.startswith("ref-prefix ")
    ]
    refs = refs | dict(_numbers(refs, prefixes))
    for name, oid in _with_head(refs).items():
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        target = f" symref-target:{HEAD}" if name == "HEAD" and "symrefs" in arguments else ""
        yield wire.line(f"{oid} {name}{target}")
    yield wire.FLUSH


def read_wish(lines: Iterable[str | None]) -> Wish:
    """What is asked for; raises InvalidRequest."""
    wish = Wish()
    for line in filter(None, lines):
        word, _, rest = line.partition(" ")
        if word in ("want", "have", "shallow"):
            oid, _, capabilities = rest.partition(" ")
            wish.capabilities |= frozenset(capabilities.split())
            {"want": wish.wants, "have": wish.haves, "shallow": wish.shallow}[word].append(oid)
        elif word == "deepen":
            wish.depth = _depth(rest)
        elif word == "done":
            wish.done = True
        elif word == "deepen-relative":
            wish.is_relative = True
        elif word in _UNKNOWN:
            raise problems.InvalidRequest(f"This hub does not support {word}.")
    wish.is_relative |= "deepen-relative" in wish.capabilities
    return wish


def _depth(text: str) -> int | None:
    if not text.isdigit() or len(text) > 10:
        raise problems.InvalidRequest("The depth must be a number.")
    return min(int(text), _DEEPEST) or None


def fetch(of: Repository, wish: Wish) -> Iterator[bytes]:
    """The answer to `fetch`, in protocol 2."""
    _expect(of, wish)
    common = [oid for oid in wish.haves if oid in of.commits]
    if not wish.done:
        yield wire.line("acknowledgments")
        yield from (wire.line(f"ACK {oid}") for oid in common)
        if not common:
            yield wire.line("NAK")
            yield wire.FLUSH
            return
        yield wire.line("ready")
        yield wire.DELIMITER
    plan = _plan(of, wish, common)
    if plan.bounds:
        yield wire.line("shallow-info")
        yield from map(wire.line, plan.bounds)
        yield wire.DELIMITER
    yield wire.line("packfile")
    yield from wire.banded(plan.pack, note=_CUT if plan.is_cut else "")


def answer(of: Repository, wish: Wish) -> Iterator[bytes]:
    """The answer to one request of protocol 0; the client repeats all that it said before."""
    _expect(of, wish)
    common = [oid for oid in wish.haves if oid in of.commits]
    plan = _plan(of, wish, common)
    if wish.depth:
        yield from map(wire.line, plan.bounds)
        yield wire.FLUSH
    detailed = "multi_ack_detailed" in wish.capabilities
    if detailed:
        yield from (wire.line(f"ACK {oid} common") for oid in common)
    if not wish.done:
        if not wish.haves:
            return
        if common:
            yield wire.line(f"ACK {common[-1]}{' ready' if detailed else ''}")
        if detailed or not common:
            yield wire.line("NAK")
        return
    yield wire.line(f"ACK {common[-1]}" if common else "NAK")
    if "side-band-64k" in wish.capabilities:
        yield from wire.banded(plan.pack, note=_CUT if plan.is_cut else "")
    else:
        yield from plan.pack


@dataclass
class _Plan:
    bounds: list[str]
    pack: Iterator[bytes]
    is_cut: bool


def _plan(of: Repository, wish: Wish, common: list[str]) -> _Plan:
    """Where the history given ends, and the objects that the client lacks."""
    had = of.before(common, stop=wish.shallow)
    reached, ends = _reach(of, wish)
    bounds = [f"shallow {oid}" for oid in sorted(ends - set(wish.shallow))]
    if wish.depth:
        inside = (set(wish.shallow) & reached) - ends
        bounds += [f"unshallow {oid}" for oid in sorted(inside)]
    sent = sorted(reached - had, key=lambda oid: (-of.commits[oid].commit_time, oid))
    trees: dict[str, Tree] = {}
    blobs: dict[str, Content] = {}
    for oid in sent:
        more_trees, more_blobs = of.contents(oid)
        trees |= more_trees
        blobs |= more_blobs
    for oid in {parent for commit in sent if (parent := of.parent(commit)) in had and parent}:
        known_trees, known_blobs = of.contents(oid)
        trees = {key: tree for key, tree in trees.items() if key not in known_trees}
        blobs = {key: blob for key, blob in blobs.items() if key not in known_blobs}
    if any(blob.is_erased and not blob.lfs for blob in blobs.values()):
        raise problems.Unavailable(
            "A file of this history is missing from storage, so nothing is sent."
        )
    commits = [of.commits[oid] for oid in sent]
    records = map(full_unpacked_object, git_objects.objects(commits, trees, blobs))
    count = len(commits) + len(trees) + len(blobs)
    pack = iter(PackChunkGenerator(SHA1, num_records=count, records=records))
    return _Plan(bounds, pack, is_cut=bool(of.cut & reached))


def _reach(of: Repository, wish: Wish) -> tuple[set[str], set[str]]:
    """The commits that the wants lead to, to the depth asked for, and where they end early."""
    reached: set[str] = set()
    ends: set[str] = set()
    if not wish.depth:
        reached = of.before(wish.wants)
        return reached, of.cut & reached
    for want in _starts(of, wish):
        here, left, counts = want, wish.depth, not wish.is_relative
        while True:
            reached.add(here)
            if wish.is_relative and here in wish.shallow:
                counts, left = True, wish.depth
            elif counts:
                left -= 1
            parent = of.parent(here)
            if parent is None:
                break
            if parent not in of.commits or (counts and left == 0):
                ends.add(here)
                break
            here = parent
    # What is the last by one way and not by another does not end there.
    return reached, {oid for oid in ends if of.parent(oid) not in reached}


def _starts(of: Repository, wish: Wish) -> list[str]:
    """Where a limited history begins; an unlimited one continues where it ended."""
    if wish.is_relative or wish.depth == _DEEPEST:
        return [*wish.wants, *(oid for oid in wish.shallow if oid in of.commits)]
    return wish.wants


def _expect(of: Repository, wish: Wish) -> None:
    for oid in wish.wants:
        if oid not in of.commits:
            raise problems.NotFound(f"upload-pack: not our ref {oid[:40]}")


def _numbers(refs: dict[str, str], prefixes: list[str]) -> Iterator[tuple[str, str]]:
    """The tags of versions as `3` and `@3`, for who asks for them: a list has only `v3`."""
    for prefix in prefixes:
        number = version_number(prefix.removeprefix(TAGS)) if prefix.startswith(TAGS) else None
        if oid := refs.get(f"{TAGS}v{number}"):
            yield prefix, oid


def _with_head(refs: dict[str, str]) -> dict[str, str]:
    head = {"HEAD": refs[HEAD]} if HEAD in refs else {}
    return head | dict(sorted(refs.items()))
