"""The commands of aliases and tags."""

from __future__ import annotations

from hub.cli.control.verbs import Noun, Verb

_CONFORMANCE = '{"kind": "conformance", "runtimes": 2}'

_METRIC = '{"kind": "metric", "metric": "accuracy", "dataset": "digits"}'

ALIAS = Noun(
    "alias",
    "list, set and delete aliases, movable names of versions",
    (
        Verb(
            "list",
            "refs.list",
            "list the aliases of a model with their versions, and who moved them last, and why",
            ("hub alias list zoo/resnet50",),
            ("name=alias", "number=version", "state", "moved_at=moved", "moved_by=by", "message"),
            fixed={"kind": "alias"},
        ),
        Verb(
            "history",
            "refs.history",
            "list the moves of aliases, newest first: who moved which, when, and why",
            (
                "hub alias history zoo/resnet50 champion",
                "hub alias history zoo/resnet50 champion --at 2026-05-03",
            ),
            ("alias", "number=version", "previous=from", "at", "until", "moved_by=by", "message"),
            positional=("alias",),
            texts={"alias": "name of the alias"},
        ),
        Verb(
            "set",
            "refs.put",
            "create an alias, or move it to another version",
            ("hub alias set zoo/resnet50@3 champion --message 'Best on the new data'",),
            fixed={"kind": "alias"},
            pinned=True,
            version_parameter="version",
            names={"ref": "alias"},
            texts={
                "ref": "name of the alias",
                "message": "why, for the history of the alias",
                "allow_yanked": "let the alias name a yanked version",
                "force": "move it although its rule demands more; needs --message",
            },
        ),
        Verb(
            "delete",
            "refs.delete",
            "delete an alias",
            ("hub alias delete zoo/resnet50 champion --yes",),
            names={"ref": "alias"},
            texts={"ref": "name of the alias"},
            question="Delete the alias {ref} of {model}? References to it stop working.",
            message="Deleted the alias {ref} of {model}",
        ),
        Verb(
            "rules",
            "alias_rules.list",
            "list what aliases demand of a version before they may name it",
            ("hub alias rules zoo/resnet50",),
            ("alias", "sentences=demands", "author=by", "updated_at=set"),
        ),
        Verb(
            "set-rule",
            "alias_rules.put",
            "set what an alias demands of a version before it may name it",
            (
                f"hub alias set-rule zoo/resnet50 champion --condition '{_CONFORMANCE}'",
                f"hub alias set-rule zoo/resnet50 champion --condition '{_METRIC}'",
            ),
            names={"ref": "alias", "conditions": "condition"},
            texts={
                "ref": "name of the alias",
                "conditions": "JSON object with the kind and values of a condition; repeatable",
            },
        ),
        Verb(
            "delete-rule",
            "alias_rules.delete",
            "delete the rule of an alias, which may then name any published version",
            ("hub alias delete-rule zoo/resnet50 champion --yes",),
            names={"ref": "alias"},
            texts={"ref": "name of the alias"},
            question="Delete the rule of {ref}? It may then name any published version of {model}.",
            message="Deleted the rule of {ref} of {model}",
        ),
    ),
)

TAG = Noun(
    "tag",
    "list, set and delete tags, permanent names of versions",
    (
        Verb(
            "list",
            "refs.list",
            "list the tags of a model with their versions",
            ("hub tag list zoo/resnet50",),
            ("name=tag", "number=version", "state"),
            fixed={"kind": "tag"},
        ),
        Verb(
            "set",
            "refs.put",
            "create a tag",
            ("hub tag set zoo/resnet50@3 1.4.0",),
            pinned=True,
            version_parameter="version",
            fixed={"kind": "tag", "message": None, "allow_yanked": None, "force": None},
            names={"ref": "tag"},
            texts={"ref": "name of the tag"},
        ),
        Verb(
            "delete",
            "refs.delete",
            "delete a tag",
            ("hub tag delete zoo/resnet50 1.4.0 --yes",),
            names={"ref": "tag"},
            texts={"ref": "name of the tag"},
            question="Delete the tag {ref} of {model}? References to it stop working.",
            message="Deleted the tag {ref} of {model}",
        ),
    ),
)
