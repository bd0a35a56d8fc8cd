"""Serializers whose fields follow from what they stand for: a model's row, or a dataclass.

`Output[Job]` is a serializer of jobs. Its `columns` name the fields in their order. A field that
the class declares is taken as it is, and comes last unless `columns` names it; a method named
`get_` and its name gives a field its value; every other field has the type, the choices and the
null of the attribute that it shows, which a `Column` may name by a path (`version.number`).
`registry.api.inputs.Input` does the same for bodies.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import date, datetime
from enum import StrEnum
from inspect import Parameter, get_annotations, signature
from types import GenericAlias, NoneType
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from rest_framework import serializers

_T = TypeVar("_T")
_Field = serializers.Field[Any, Any, Any, Any]
_BY_COLUMN: dict[type[models.Field[Any, Any]], type[_Field]] = {
    models.BooleanField: serializers.BooleanField,
    models.DateTimeField: serializers.DateTimeField,
    models.DateField: serializers.DateField,
    models.FloatField: serializers.FloatField,
    models.IntegerField: serializers.IntegerField,
    models.JSONField: serializers.JSONField,
    models.UUIDField: serializers.UUIDField,
    models.CharField: serializers.CharField,
    models.TextField: serializers.CharField,
}
_BY_TYPE: dict[Any, type[_Field]] = {
    bool: serializers.BooleanField,
    date: serializers.DateField,
    datetime: serializers.DateTimeField,
    dict: serializers.DictField,
    float: serializers.FloatField,
    int: serializers.IntegerField,
    str: serializers.CharField,
    UUID: serializers.UUIDField,
}
_STANDARD = {kind.__name__: kind for kind in (date, datetime, UUID, Mapping, Sequence)}


class Digest(serializers.CharField):
    """A digest as `sha256:<hex>`, or null."""

    def to_representation(self, value: str) -> Any:
        return f"sha256:{value}" if value else None


class Column:
    """A field: its name, the attribute it stands for, and what the type does not tell.

    ``kind`` is its type, or ``field`` the class of the field, where they are not those of the
    attribute.
    """

    def __init__(
        self,
        name: str,
        source: str = "",
        *,
        kind: Any = None,
        field: type[_Field] | None = None,
        **options: Any,
    ) -> None:
        self.name, self.source, self.kind, self.options = name, source or name, kind, options
        self.field = serializers.ChoiceField if field is None and "choices" in options else field


class Columns:
    """Fields in their order; a name alone is that of an attribute.

    ``of`` is a model, a dataclass or a function with these attributes or parameters. ``options``
    are those of every field.
    """

    def __init__(self, *entries: str | Column, of: Any = None, **options: Any) -> None:
        self.of = of
        self.entries = [entry if isinstance(entry, Column) else Column(entry) for entry in entries]
        for entry in self.entries:
            entry.options = options | entry.options


# OpenAPI describes what has no words by those of its base, so the bases have none.
class Shape(serializers.Serializer[_T]):
    columns: ClassVar[Columns] = Columns()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        inherited = super(cls, cls)._declared_fields
        declared = {
            name: field
            for name, field in cls._declared_fields.items()
            if field is not inherited.get(name)
        }
        own = cls.columns.entries if "columns" in vars(cls) else []
        named = {column.name: declared.get(column.name) or cls.derived(column) for column in own}
        cls._declared_fields = inherited | named | declared

    @classmethod
    def derived(cls, column: Column) -> _Field:
        """The field of a column."""
        if column.field is not None:
            return column.field(**deepcopy(column.options))
        if column.kind is not None:
            return _of_type(column.kind, column.options)
        return serializers.CharField(**column.options)


class Output(Shape[_T]):
    _owner: ClassVar[Any] = None

    def __class_getitem__(cls, owner: Any) -> GenericAlias:  # type: ignore[override]
        return GenericAlias(cls, owner)

    def __init_subclass__(cls) -> None:
        for base in vars(cls).get("__orig_bases__", ()):
            [cls._owner] = get_args(base)
        super().__init_subclass__()

    @classmethod
    def derived(cls, column: Column) -> _Field:
        getter = f"get_{column.name}"
        if hasattr(cls, getter) and not hasattr(serializers.Serializer, getter):
            return serializers.SerializerMethodField(**column.options)
        if column.source != column.name:
            column.options["source"] = column.source
        if column.field is not None or column.kind is not None:
            return super().derived(column)
        return field_of(cls._owner, column.source, **column.options)


def field_of(owner: Any, path: str, **options: Any) -> _Field:
    """The field that shows an attribute of a row or dataclass, given by its path."""
    name, _, rest = path.partition(".")
    column = _column(owner, name)
    if not rest:
        return _of_column(column, options) if column else _of_type(_annotated(owner, name), options)
    if column is None:
        return field_of(_annotated(owner, name), rest, **options)
    absent = {"default": None, "allow_null": True} if column.null else {}
    return field_of(column.related_model, rest, **absent | options)


def input_field(owner: Any, name: str, **options: Any) -> _Field:
    """The field of a body for a column, a dataclass's field or a function's parameter.

    It has the same default, unless the field is required or the default another.
    """
    if column := _column(owner, name):
        if isinstance(column, models.CharField) and not column.choices:
            options = {"max_length": column.max_length} | options
        default = column.default if column.has_default() else Parameter.empty
        is_blank = column.blank and isinstance(column, models.CharField | models.TextField)
    else:
        parameter = signature(owner).parameters[name]
        default, is_blank = parameter.default, parameter.default == ""
    if is_blank:
        options = {"allow_blank": True} | options
    if default is not Parameter.empty and "required" not in options:
        options = {"default": default} | options
    if column:
        return _of_column(column, options)
    return _of_type(_evaluated(owner, parameter.annotation), options)


def _column(owner: Any, name: str) -> Any:
    """The column of a model; None for a property, and for whatever belongs to no model."""
    if not isinstance(owner, type) or not issubclass(owner, models.Model):
        return None
    with suppress(FieldDoesNotExist):
        return owner._meta.get_field(name)  # noqa: SLF001 - Django's public API of models
    return None


def _of_column(column: Any, options: dict[str, Any]) -> _Field:
    if column.null:
        options = {"allow_null": True} | options
    column = getattr(column, "target_field", column)
    if column.choices:
        return serializers.ChoiceField(column.choices, **options)
    matches = (field for kind, field in _BY_COLUMN.items() if isinstance(column, kind))
    return next(matches)(**options)


def _of_type(kind: Any, options: dict[str, Any]) -> _Field:
    """The field of a value, or of a list of values or a map from names to them."""
    parts = get_args(kind)
    if NoneType in parts:
        [kind] = set(parts) - {NoneType}
        return _of_type(kind, {"allow_null": True} | options)
    origin = get_origin(kind)
    if origin is Literal:
        return serializers.ChoiceField(parts, **options)
    if origin in (list, tuple, Sequence):
        return serializers.ListField(child=_of_type(parts[0], {}), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_of_type(parts[1], {}), **options)
    if issubclass(kind, StrEnum):
        return serializers.ChoiceField(getattr(kind, "choices", list(kind)), **options)
    return _BY_TYPE[kind](**options)


def _annotated(owner: Any, name: str) -> Any:
    """The type of a property, or of a dataclass's field.

    Its words are read where it is declared; of what that imports for type checkers alone, the
    standard names are there.
    """
    for kind in owner.__mro__:
        attribute = vars(kind).get(name)
        getter = getattr(attribute, "fget", None) or getattr(attribute, "func", None)
        words = getter.__annotations__["return"] if getter else get_annotations(kind).get(name)
        if words is not None:
            return _evaluated(kind, words)
    raise AttributeError(f"{owner.__name__} has no column, property or field {name!r}")


def _evaluated(owner: Any, words: Any) -> Any:
    names = _STANDARD | vars(sys.modules[owner.__module__])
    return eval(getattr(words, "__forward_arg__", words), names)  # noqa: S307 - our own code


def answers_of(
    output: type[serializers.Serializer[Any]], rows: Any, context: Mapping[str, Any] | None = None
) -> list[Any]:
    """Rows as a list of answers."""
    many: Any = output
    return list(many(rows, many=True, context=context or {}).data)
