"""Cases that give their expected outputs after a change of operator set, ours beside C++ alone.

Cases are the ONNX backend node tests of the installed package, folders of such tests (--suite, for
those of older packages), and the models of HUB_MODEL_CORPUS. ONNX Runtime judges; a case counts
when it passes before the conversion, and is "gained" when it passes only afterwards. Every case is
worked on in a process that may crash.

    python benchmarks/opset_upgrade.py --targets 26 21 17
    python benchmarks/opset_upgrade.py --no-installed --suite FOLDER [FOLDER ...] --targets 26
    HUB_MODEL_CORPUS=../shared/models python benchmarks/opset_upgrade.py --no-installed
    python benchmarks/opset_upgrade.py --certificates --targets 26

With --certificates, the conversion of each different node of these cases is searched alone for a
difference (runners/engine/certificates), and the share without one is reported; with --write, the
certificates that come with the hub are made anew.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import version_converter  # noqa: E402

from hub.protocol.node_certificates import SearchOutcome  # noqa: E402
from runners.engine import runtimes  # noqa: E402
from runners.engine.certificates import certificate, keys, search  # noqa: E402
from runners.engine.certificates.certificate import Certificate  # noqa: E402
from runners.engine.certificates.conversion import converted  # noqa: E402
from runners.engine.onnx_files import bodies, datasets  # noqa: E402
from runners.engine.opsets import convert, normal  # noqa: E402
from runners.engine.runs import agreement  # noqa: E402
from runners.engine.runtimes import probing  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Made = tuple[onnx.ModelProto | None, str]

PLAIN = agreement.Profile("suite", rtol=1e-3, atol=1e-5)
HALF = agreement.Profile("suite-half", rtol=1e-2, atol=1e-3)
SECONDS = 120
BATCH = 40
GROUPS = ((1, 6), (7, 7), (8, 8), (9, 9), (10, 10), (11, 11), (12, 12), (13, 13), (14, 17))
GROUPS += ((18, 20), (21, 25), (26, 28))


@dataclass(slots=True)
class Case:
    """One model with expected outputs: in memory, or in a folder."""

    name: str
    model: onnx.ModelProto | None = None
    values: list[Any] = field(default_factory=list)
    folder: Path | None = None

    def load(self) -> tuple[onnx.ModelProto, list[datasets.DataSet]]:
        if self.folder is not None:
            model = onnx.load(self.folder / "model.onnx")
            return model, datasets.read(self.folder, model)
        assert self.model is not None
        ins = datasets.required_inputs(self.model)
        if self.values and len(self.values[0][0]) > len(ins):
            ins = list(self.model.graph.input)
        sets = []
        for given, expected in self.values:
            left = {port.name: value for port, value in zip(ins, given, strict=False)}
            right = {
                port.name: value
                for port, value in zip(self.model.graph.output, expected, strict=False)
            }
            sets.append(datasets.DataSet("installed", "bundled", left, right))
        return self.model, sets


def installed() -> Iterator[Case]:
    from onnx.backend.test.loader import load_model_tests

    for one in load_model_tests(kind="node"):
        yield Case(one.name, one.model, one.data_sets)


def stored(folders: list[Path]) -> Iterator[Case]:
    """Find test folders, each model with its data only once over all the folders given."""
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob("model.onnx")):
            mark = hashlib.sha256(path.read_bytes()).digest()
            if mark not in seen and any(path.parent.glob("test_data_set_*")):
                seen.add(mark)
                place = path.parent.relative_to(folder).as_posix()
                yield Case(f"{folder.name}:{place}", folder=path.parent)


def version_of(model: onnx.ModelProto) -> int:
    found = [one.version for one in model.opset_import if one.domain in {"", "ai.onnx"}]
    return found[0] if found else int(model.ir_version < 3)


class Judge:
    """Runs models in ONNX Runtime and compares what they give with what is expected."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self._runtime = runtimes.of("onnxruntime")
        self.count = 0

    def outcome(self, model: onnx.ModelProto, sets: list[datasets.DataSet]) -> str:
        """Give "pass", or in words what went wrong."""
        self.count += 1
        path = self._room / f"{os.getpid()}.onnx"
        path.write_bytes(model.SerializeToString())
        try:
            run = self._runtime.open(path)
        except Exception as error:  # noqa: BLE001 - whatever it says is the outcome
            return f"no load: {str(error)[:300]}"
        half = bodies.uses_half(model) or any(
            str(getattr(value, "dtype", "")) in {"float16", "bfloat16"}
            for one in sets
            for value in one.inputs.values()
        )
        for one in sets:
            try:
                said = run(one.inputs)
            except Exception as error:  # noqa: BLE001
                return f"no run: {str(error)[:300]}"
            names = [port.name for port in model.graph.output]
            actual = dict(zip(names, said, strict=True))
            for name, expected in one.outputs.items():
                value = expected
                if isinstance(value, np.generic):
                    value = np.asarray(value)
                got = agreement.compare(name, value, actual[name], HALF if half else PLAIN)
                if not got.agrees:
                    return f"mismatch: {got.reason}"
        return "pass"


def ours(model: onnx.ModelProto, target: int) -> Made:
    made = convert(model, target)
    if made.model is None:
        return None, "; ".join(f"{one.op} ({one.reason})" for one in made.blocking)
    return made.model, ",".join(made.rules)


def alone(model: onnx.ModelProto, target: int) -> Made:
    try:
        return version_converter.convert_version(model, target), ""
    except Exception as error:  # noqa: BLE001
        return None, str(error)[:300]


def bump(model: onnx.ModelProto, target: int) -> Made:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for one in made.opset_import:
        if one.domain in {"", "ai.onnx"}:
            one.version = target
    return made, ""


CONVERTERS: dict[str, Callable[[onnx.ModelProto, int], Made]] = {
    "ours": ours,
    "alone": alone,
    "bump": bump,
}


def judge_case(case: Case, targets: list[int], judge: Judge, who: list[str]) -> Iterator[Any]:
    """Say step by step what becomes of a case; the last word before a crash names its stage."""
    model, sets = case.load()
    source = version_of(model)
    if not source or not sets:
        yield {"source": 0}
        return
    yield {"stage": "before"}
    yield {"source": source, "before": judge.outcome(model, sets)}
    for target in targets:
        if target == source:
            continue
        for name in who:
            yield {"stage": f"{name} {target}"}
            try:
                made, words = CONVERTERS[name](model, target)
            except Exception as error:  # noqa: BLE001 - counted as a failure of the converter
                made, words = None, f"raised {type(error).__name__}: {error}"[:300]
            result = f"blocked: {words}" if made is None else judge.outcome(made, sets)
            rules = "" if made is None else words
            yield {"by": name, "target": target, "result": result, "rules": rules}


def work(cases: list[tuple[int, Case]], options: argparse.Namespace, log: Path) -> None:
    """In a child: judge cases one after another and write down each step at once."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="opset-case-") as room, log.open("a") as file:
        judge = Judge(Path(room))
        for place, case in cases:
            os.write(file.fileno(), json.dumps([place, {"start": case.name}]).encode() + b"\n")
            try:
                for said in judge_case(case, options.targets, judge, options.by):
                    os.write(file.fileno(), json.dumps([place, said]).encode() + b"\n")
            except Exception as error:  # noqa: BLE001
                said = {"failed": f"{type(error).__name__}: {error}"[:300]}
                os.write(file.fileno(), json.dumps([place, said]).encode() + b"\n")


def run_all(cases: list[Case], options: argparse.Namespace) -> list[list[Any]]:
    """Judge all cases in children; a crash costs its case alone."""
    waiting = list(enumerate(cases))
    said: list[list[Any]] = [[] for _ in cases]
    with tempfile.TemporaryDirectory(prefix="opset-upgrade-") as folder:
        while waiting:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            log = Path(folder) / "log"
            log.write_text("")
            pid = os.fork()
            if pid == 0:
                status = 1
                with contextlib.suppress(BaseException):
                    work(batch, options, log)
                    status = 0
                os._exit(status)
            status = wait_for(pid, log)
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            for place, step in lines:
                said[place].append(step)
            if status and lines:
                last = lines[-1][0]
                said[last].append({"crashed": status})
                waiting = [one for one in batch if one[0] > last] + waiting
            if options.verbose:
                print(f"\r{len(cases) - len(waiting)}/{len(cases)}", end="", file=sys.stderr)
    return said


def wait_for(pid: int, log: Path) -> int:
    """Wait for a child; end it when nothing new was written for a while. Gives its signal."""
    size, since = 0, time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status & 0x7F
        now = log.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > SECONDS:
            os.kill(pid, 9)
        time.sleep(0.02)


@dataclass(slots=True)
class Tally:
    """What became of the cases that one converter took to one target."""

    outcomes: Counter[tuple[int, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)

    def count(self, source: int, before: str, result: str) -> str:
        word = {"pass": "pass", "blocked": "E", "mismatch": "W"}.get(result.partition(":")[0], "U")
        if before != "pass":
            word = "gained" if word == "pass" else "never"
        self.outcomes[source, word] += 1
        return word


def tally(cases: list[Case], said: list[list[Any]]) -> dict[tuple[str, int, str], Tally]:
    tallies: dict[tuple[str, int, str], Tally] = defaultdict(Tally)
    for case, steps in zip(cases, said, strict=True):
        facts: dict[str, Any] = {"source": 0, "before": "crash"}
        stage = ""
        for step in steps:
            facts |= {key: step[key] for key in ("source", "before") if key in step}
            stage = step.get("stage", stage)
            if ("crashed" in step or "failed" in step) and " " in stage:
                name, target = stage.split()
                words = f"crash: {step.get('crashed') or step.get('failed')}"
                step = {"by": name, "target": int(target), "result": words, "rules": ""}  # noqa: PLW2901
            if "by" in step:
                way = "up" if step["target"] > facts["source"] else "down"
                one = tallies[step["by"], step["target"], way]
                word = one.count(facts["source"], facts["before"], step["result"])
                if word == "pass":
                    one.rules.update(rule for rule in step["rules"].split(",") if rule)
                elif word in "EWU":
                    shown = step["result"][:200].replace("\n", " ")
                    one.failures.append(f"  {word} {facts['source']:>2} {case.name}: {shown}")
    return tallies


def show(tallies: dict[tuple[str, int, str], Tally], options: argparse.Namespace) -> None:
    for (name, target, way), one in sorted(tallies.items()):
        words: Counter[str] = Counter()
        for (_, word), count in one.outcomes.items():
            words[word] += count
        total = sum(words[word] for word in ("pass", "E", "W", "U"))
        share = 100 * words["pass"] / total if total else 0.0
        print(
            f"{name:5} {way:4} to {target}: {words['pass']}/{total} = {share:.2f} % "
            f"(E {words['E']}, W {words['W']}, U {words['U']}; gained {words['gained']})"
        )
        for low, high in GROUPS:
            here: Counter[str] = Counter()
            for (source, word), count in one.outcomes.items():
                if low <= source <= high:
                    here[word] += count
            total = sum(here[word] for word in ("pass", "E", "W", "U"))
            if total or here["gained"]:
                print(
                    f"      from {low}-{high}: {here['pass']}/{total} "
                    f"E {here['E']} W {here['W']} U {here['U']} gained {here['gained']}"
                )
        if one.rules:
            print("      rules:", ", ".join(f"{k} {n}" for k, n in one.rules.most_common()))
        if options.list or (options.list_ours and name == "ours"):
            print("\n".join(sorted(one.failures)))


def keys_of(cases: list[Case], target: int) -> tuple[dict[keys.NodeKey, str], Counter[str]]:
    """The key of each different node with a case that has it, and why others have none."""
    users: dict[keys.NodeKey, str] = {}
    without: Counter[str] = Counter()
    for case in cases:
        try:
            model, _ = case.load()
            source = normal.normalise(model)
        except Exception as error:  # noqa: BLE001 - counted
            without[f"unreadable: {type(error).__name__}"] += 1
            continue
        if not 0 < source < target:
            continue
        for key, _ in keys.keys_of(model, source, target):
            if isinstance(key, str):
                without[key] += 1
            else:
                users.setdefault(key, case.name)
    return users, without


def search_all(
    cases: list[Case], target: int, earlier: dict[str, Certificate]
) -> dict[str, Certificate]:
    """Search each key in a child, which may crash, and print what is not certified."""
    users, without = keys_of(cases, target)
    certificates = {}
    lines = []
    for key, case in users.items():
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                stored_row = earlier.get(converted(key).digest)
                os.write(write, json.dumps((stored_row or search.search(key)).to_json()).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            raw = answer.read()
        os.waitpid(pid, 0)
        if not raw:
            lines.append(f"  crashed       {key.op}-{key.source} {case}")
            continue
        row = Certificate.from_json(json.loads(raw))
        certificates[row.key] = row
        if row.outcome != SearchOutcome.CERTIFIED:
            limits = "; ".join(f"{kind}: {words}" for kind, words in row.limits.items())
            words = (limits or row.reason)[:160]
            lines.append(f"  {row.outcome:13} {row.op}-{row.source} {case}: {words}")
    outcomes = Counter(row.outcome for row in certificates.values())
    total = len(users)
    shares = (f"{outcome} {count} ({count / total:.1%})" for outcome, count in outcomes.items())
    print(f"to {target}: {total} keys; {', '.join(shares)}")
    print("without a key:", ", ".join(f"{words} {count}" for words, count in without.items()))
    print("\n".join(sorted(lines)))
    return certificates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", type=Path, nargs="*", default=[])
    parser.add_argument("--no-installed", action="store_true")
    parser.add_argument("--targets", type=int, nargs="*", default=[])
    parser.add_argument("--by", nargs="*", default=["ours", "alone"], choices=list(CONVERTERS))
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--certificates", action="store_true", help="search single nodes instead")
    parser.add_argument("--write", action="store_true", help="make the certificates of the hub")
    parser.add_argument("--list", action="store_true", help="list what fails")
    parser.add_argument("--list-ours", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.targets = options.targets or [probing.highest()[0]]
    folders = list(options.suite)
    if corpus := os.environ.get("HUB_MODEL_CORPUS"):
        folders.append(Path(corpus))
    cases = [] if options.no_installed else list(installed())
    cases += stored(folders)
    cases = [case for case in cases if options.only in case.name]
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, {len(cases)} cases")
    if options.certificates:
        rows: dict[str, Certificate] = {}
        for target in options.targets:
            rows |= search_all(cases, target, rows)
        if options.write:
            certificate.write(certificate.SHIPPED, rows.values())
        return
    show(tally(cases, run_all(cases, options)), options)


if __name__ == "__main__":
    main()
