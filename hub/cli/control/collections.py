"""The commands of collections: lists of models that a namespace keeps."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

_DESCRIPTION = {"description": "plain text"}

COLLECTION = Noun(
    "collection",
    "list, show and change collections of models",
    (
        Verb(
            "list",
            "collections.list",
            "list collections, newest first",
            (
                "hub collection list",
                "hub collection list --namespace zoo",
                "hub collection list --model zoo/resnet50",
            ),
            ("namespace", "slug=name", "title", "model_count=models", "visibility"),
        ),
        Verb(
            "show",
            "collections.read",
            "show a collection with its models",
            ("hub collection show zoo/small-classifiers",),
        ),
        Verb(
            "create",
            "collections.create",
            "create an empty collection",
            ("hub collection create zoo/small-classifiers --title 'Small classifiers'",),
            creates="collection",
            texts=_DESCRIPTION,
        ),
        Verb(
            "edit",
            "collections.edit",
            "change the title, description or visibility of a collection",
            (
                "hub collection edit zoo/small-classifiers --description 'Below 1 MB'",
                "hub collection edit zoo/small-classifiers --visibility private",
            ),
            texts=_DESCRIPTION,
        ),
        Verb(
            "delete",
            "collections.delete",
            "delete a collection; its models stay",
            ("hub collection delete zoo/small-classifiers --yes",),
            question="Delete the collection {collection} with its notes? Its models stay. This "
            "cannot be undone.",
            message="Deleted the collection {collection}",
        ),
        Verb(
            "add",
            "collections.add",
            "add a model to a collection, at the end",
            ("hub collection add zoo/small-classifiers zoo/resnet50 --note 'Best accuracy'",),
        ),
        Verb(
            "note",
            "collections.annotate",
            "change the note of a model in a collection",
            ("hub collection note zoo/small-classifiers zoo/resnet50 'Best accuracy below 1 MB'",),
            positional=("note",),
        ),
        Verb(
            "remove",
            "collections.remove",
            "remove a model from a collection; the model stays",
            ("hub collection remove zoo/small-classifiers zoo/resnet50",),
            message="Removed {model} from {collection}",
        ),
        Verb(
            "reorder",
            "collections.reorder",
            "put models first in a collection; the others follow in their order",
            ("hub collection reorder zoo/small-classifiers zoo/mobilenet zoo/resnet50",),
            positional=("models",),
        ),
        Verb(
            "remove-unavailable",
            "collections.remove_unavailable",
            "remove the models that you cannot see from a collection that you can change",
            ("hub collection remove-unavailable zoo/small-classifiers --yes",),
            question="Remove the models that you cannot see from {collection}? Others may still "
            "see them there. This cannot be undone.",
            message="Removed the models that you cannot see from {collection}",
        ),
    ),
)
