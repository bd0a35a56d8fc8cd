"""A list of models as code: the call of the Python client that gives the same models."""

from __future__ import annotations

from django.http import QueryDict

from frontend.presenters import list_filters
from hub.protocol import filters
from registry.catalogue.query import Query

# Groups of the API, which take several values.
_MANY = frozenset(("min", "max"))


def python(query: Query) -> str:
    """The lines that print the references of the models of a list, in its order."""
    data = QueryDict(list_filters.parameters(query))
    arguments = [repr(data["q"])] if "q" in data else []
    arguments += [f"{name}={_value(name, data.getlist(name))}" for name in data if name != "q"]
    call = f"hub.list_models({', '.join(arguments)})"
    if len(call) > 72:
        body = "".join(f"    {argument},\n" for argument in arguments)
        call = f"hub.list_models(\n{body})"
    return f'import hub\n\nfor model in {call}:\n    print(model["ref"])'


def _value(name: str, values: list[str]) -> str:
    if name in filters.BOUNDS:
        return values[0]
    if name == "predicted":
        return "True"
    if len(values) > 1 or name in _MANY:
        return repr(values)
    return repr(values[0])
