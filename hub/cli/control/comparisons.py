"""The commands of saved comparisons: models that a user compares, private or shared by a link."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

_UUID = "0a1b2c3d-0000-4000-8000-000000000001"
_TEXTS = {
    "uuid": "id of the saved comparison, the last part of its link",
    "references": "a compared model, with version and variant if wanted; repeatable",
    "sharing": "private, or link: everyone who has the link can open it",
}

SAVED_COMPARISON = Noun(
    "saved-comparison",
    "list, show and change saved comparisons of models",
    (
        Verb(
            "list",
            "saved_comparisons.list",
            "list your saved comparisons, newest first",
            ("hub saved-comparison list",),
            ("uuid", "title", "sharing", "references=models"),
        ),
        Verb(
            "show",
            "saved_comparisons.read",
            "show a saved comparison of yours, or one that is shared by its link",
            (f"hub saved-comparison show {_UUID}",),
            texts=_TEXTS,
        ),
        Verb(
            "create",
            "saved_comparisons.create",
            "save a comparison of two to six models",
            ("hub saved-comparison create zoo/resnet50@3 zoo/resnet50@3:int8 --title 'In int8'",),
            positional=("references",),
            texts=_TEXTS,
        ),
        Verb(
            "edit",
            "saved_comparisons.edit",
            "change the title, the sharing or the models of a saved comparison",
            (f"hub saved-comparison edit {_UUID} --sharing link",),
            names={"references": "model"},
            texts=_TEXTS,
        ),
        Verb(
            "delete",
            "saved_comparisons.delete",
            "delete a saved comparison; its link leads nowhere then",
            (f"hub saved-comparison delete {_UUID} --yes",),
            texts=_TEXTS,
            question="Delete the saved comparison {uuid}? Its link leads nowhere then. This cannot "
            "be undone.",
            message="Deleted the saved comparison {uuid}",
        ),
    ),
)
