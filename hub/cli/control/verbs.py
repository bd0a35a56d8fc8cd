"""A command as a declaration: its operation, its help, its examples, and how its answer prints."""

from __future__ import annotations

import argparse
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from hub.cli.control import arguments, output
from hub.cli.parsing import examples
from hub.client import api
from hub.client.hub import Hub
from hub.client.rest.groups import group_class
from hub.protocol import problems, refs
from hub.terminal import DONE, positive

LIMIT = 20
_TRAINING_GROUPS = frozenset({"trainings", "invites", "participants", "rounds"})
_HIDDEN = frozenset({"self", "etag"})
# Run with the parsed options, for what is more than one operation.
Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Verb:
    """A command of one operation, such as `hub jobs cancel` of `jobs.cancel`.

    `columns` are those of a list. `question` is asked before what cannot be undone, and `message`
    printed where the API answers nothing; both may name arguments in braces. A function as question
    may change the arguments, and gives no text where there is nothing to ask. `positional` are
    optional parameters that are written without a dash, `fixed` those with one value, `names` the
    options of other parameters, `texts` their help. With `pinned` a version must be named; the
    newest is not taken. `model_operation` takes over where the reference names a model alone.
    `version_parameter` takes the number of the version that the reference names, in operations
    of models. With `creates`, a model or collection, the reference is the name that it gets.
    `show` prints the answer.
    """

    name: str
    operation: str
    help: str
    examples: tuple[str, ...]
    columns: tuple[str, ...] = ()
    question: str | Callable[[Hub, dict[str, Any]], str] = ""
    message: str = ""
    positional: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    pinned: bool = False
    model_operation: str = ""
    version_parameter: str = ""
    creates: str = ""
    show: Callable[[Any], None] | None = None

    def add_to(self, commands: Any) -> None:
        """Add the command to the commands of a parser."""
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[0].upper()}{self.help[1:]}.",
            epilog=examples(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        if self.question:
            parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.set_defaults(command=self.run)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the operation."""
        if "collection" not in self.signature:  # whose name comes before that of its model
            add_reference(parser, self)
        for name, parameter, hint in self._parameters:
            if name == "limit":
                continue
            is_positional = parameter.kind is not parameter.KEYWORD_ONLY or name in self.positional
            arguments.add(
                parser,
                name,
                hint,
                required=parameter.default is parameter.empty or name in self.positional,
                positional=is_positional,
                text=self.texts.get(name, ""),
                option=self.names.get(name, name.removesuffix("_")).replace("_", "-"),
            )
            if name == "collection":
                add_reference(parser, self)
        if self.is_paged:
            parser.add_argument(
                "--limit",
                type=positive,
                default=LIMIT,
                help=f"maximum number of results (default: {LIMIT})",
            )

    @cached_property
    def method(self) -> Callable[..., Any]:
        """The operation, as a function of its group."""
        group, _, name = self.operation.partition(".")
        return typing.cast("Callable[..., Any]", getattr(group_class(group), name))

    @cached_property
    def signature(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the operation."""
        return inspect.signature(self.method).parameters

    @property
    def is_paged(self) -> bool:
        """Whether the operation lists more than one page."""
        return "limit" in self.signature

    @property
    def reference(self) -> str:
        """How the command names its model: `ref`, `training`, `model`, or not at all."""
        if self.creates:
            return "model"
        model = self.signature.get("model")
        if model is None or model.default is not model.empty:  # an option of a list is no name
            return ""
        if "number" not in self.signature:
            return "model"
        return "training" if self.operation.partition(".")[0] in _TRAINING_GROUPS else "ref"

    @cached_property
    def _parameters(self) -> list[tuple[str, inspect.Parameter, Any]]:
        hints = typing.get_type_hints(self.method, include_extras=True)
        reserved = {*_HIDDEN, *self.fixed, *({"model", "number"} if self.reference else ())}
        reserved |= {self.version_parameter, *(("namespace", self._name) if self.creates else ())}
        return [
            (name, parameter, hints[name])
            for name, parameter in self.signature.items()
            if name not in reserved
        ]

    @property
    def _name(self) -> str:
        """The parameter that takes the name of what is created."""
        return "slug" if "slug" in self.signature else "name"

    def values(self, hub: Hub, options: argparse.Namespace) -> dict[str, Any]:
        """The arguments of the operation, from the options of the command."""
        values: dict[str, Any] = {
            name: None if value is arguments.NULL else value
            for name, _, _ in self._parameters
            if (value := getattr(options, name, None)) is not None
        }
        if self.reference == "training":
            values["model"], values["number"] = arguments.training(options.training)
        elif self.reference == "model":
            values |= self._model(hub, options)
        elif self.reference == "ref":
            parsed = refs.parse(options.ref)
            if self.model_operation and not (parsed.is_pinned or parsed.label):
                return {**values, "model": parsed.name, **self.fixed}
            values["model"], values["number"] = version(hub, options.ref, pinned=self.pinned)
            variant = parsed.variant
            if variant and "variant" in self.signature:
                values.setdefault("variant", variant)
        return {**values, **self.fixed}

    def _model(self, hub: Hub, options: argparse.Namespace) -> dict[str, Any]:
        """The model of the reference, and its version where the command takes one.

        Raises InvalidReference where it does not: who deletes zoo/resnet50@3 means no model.
        """
        text = str(options.model)
        parsed = refs.parse(text)
        names_version = parsed.is_pinned or parsed.label is not None
        if self.version_parameter and (names_version or self.pinned):
            name, number = version(hub, text, pinned=self.pinned)
            return {"model": name, self.version_parameter: number}
        if names_version or parsed.variant:
            raise problems.InvalidReference(
                f"{text} names a version or variant, and this command is about a "
                f"{self.creates or 'model'}. Write {parsed.name}."
            )
        if self.creates:
            return {"namespace": parsed.namespace, self._name: parsed.model}
        return {"model": parsed.name}

    def run(self, options: argparse.Namespace) -> int:
        """Call the operation and print its answer."""
        hub = api.default_hub()
        values = self.values(hub, options)
        if self.question:
            question = self.question
            text = question(hub, values) if callable(question) else question.format(**values)
            if text:
                output.confirm(text, yes=options.yes)
        is_of_model = self.model_operation and "number" not in values
        operation = self.model_operation if is_of_model else self.operation
        group, _, name = operation.partition(".")
        answer = getattr(getattr(hub, group), name)(**values)
        self._print(answer, values, as_json=options.json)
        return DONE

    def _print(self, answer: Any, values: Mapping[str, Any], *, as_json: bool) -> None:
        if as_json:
            output.as_json(str(answer) if isinstance(answer, Path) else answer)
        elif self.show is not None:
            self.show(answer)
        elif answer is None:
            print((self.message or "Nothing to show").format(**values))
        elif isinstance(answer, str):
            output.raw(answer)
        elif isinstance(answer, Path):
            print(answer)
        elif self.columns:
            rows = answer if hasattr(answer, "__iter__") else (answer,)
            noun, _, name = self.operation.partition(".")
            # `users.sessions` lists sessions, `users.list` users.
            things = name if name == self.name and name.endswith("s") else noun
            output.table(rows, self.columns, f"no {things.replace('_', ' ')}")
        else:
            output.details(answer)


@dataclass(frozen=True)
class Task:
    """A command of several operations: `arguments` adds its arguments, `run` does it."""

    name: str
    help: str
    examples: tuple[str, ...]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Run

    def add_to(self, commands: Any) -> None:
        """Add the command to the commands of a parser."""
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[0].upper()}{self.help[1:]}.",
            epilog=examples(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.set_defaults(command=self.run)


@dataclass(frozen=True)
class Noun:
    """A group of commands, such as `hub jobs`."""

    name: str
    help: str
    verbs: tuple[Verb | Task, ...]

    def add_to(self, commands: Any) -> None:
        """Add the group with its commands."""
        parser = commands.add_parser(
            self.name, help=self.help, description=f"{self.help[0].upper()}{self.help[1:]}."
        )
        verbs = parser.add_subparsers(metavar="command", required=True)
        for verb in self.verbs:
            verb.add_to(verbs)


def add_reference(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Add the positional argument that names a model, a version or a training."""
    texts: Final = {
        "model": "a model, such as zoo/resnet50",
        "ref": "a model or version, such as zoo/resnet50 or zoo/resnet50@3"
        if verb.model_operation
        else "a version, such as zoo/resnet50@3"
        + ("" if verb.pinned else "; without a number, the newest"),
        "training": "a training, such as zoo/digits/trainings/7",
    }
    if verb.creates:
        text = f"name of the new {verb.creates}, such as zoo/{verb.creates}"
        parser.add_argument("model", metavar=verb.creates, help=text)
    elif verb.version_parameter:
        text = texts["ref"] if verb.pinned else "a model or version, such as zoo/resnet50@3"
        parser.add_argument("model", metavar="ref", help=text)
    elif verb.reference:
        parser.add_argument(verb.reference, help=texts[verb.reference])


def version(hub: Hub, ref: str, *, pinned: bool = False) -> tuple[str, int]:
    """The model and the number of the version that a reference names.

    Raises InvalidReference where a version must be named and is not, and NotFound.
    """
    parsed = refs.parse(ref)
    if parsed.number is not None:
        return parsed.name, parsed.number
    if parsed.label is not None or parsed.digest is not None:
        return parsed.name, hub.versions.resolve(ref=refs.format(parsed)).number
    if pinned:
        raise problems.InvalidReference(
            f"Name the version, such as {parsed.name}@3. `hub versions list {parsed.name}` lists "
            "them."
        )
    latest = problems.expect(
        hub.models.read(parsed.name).latest,
        problems.NotFound(
            f"{parsed.name} has no published version. `hub versions list {parsed.name}` lists "
            "those that you can see."
        ),
    )
    return parsed.name, latest.number
