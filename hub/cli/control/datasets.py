"""The commands of data sets that call one operation each; hub.cli.datasets has the others."""

from __future__ import annotations

from hub.cli.control.verbs import Verb

VERBS = (
    Verb(
        "create",
        "datasets.create",
        "create the entry of a data set",
        ("hub dataset create digits --namespace zoo --license cc0-1.0",),
        positional=("slug",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "edit",
        "datasets.edit",
        "change the entry of a data set",
        ("hub dataset edit digits --title 'Handwritten digits' --rows 1797",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "withdraw",
        "datasets.withdraw",
        "withdraw a data set; its page remains",
        ("hub dataset withdraw digits --reason 'Consent revoked' --yes",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
        question="Withdraw the data set {slug}? Its files can no longer be downloaded until you "
        "restore it.",
    ),
    Verb(
        "restore",
        "datasets.restore",
        "undo the withdrawal of a data set",
        ("hub dataset restore digits",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "versions",
        "dataset_versions.list",
        "list the versions of a data set, newest first",
        ("hub dataset versions digits",),
        columns=(
            "number=version",
            "file_count=files",
            "size_bytes=size",
            "created_by=by",
            "created_at=created",
            "message",
        ),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "show-version",
        "dataset_versions.read",
        "show a version with its files and splits",
        ("hub dataset show-version digits 1",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "croissant",
        "dataset_versions.croissant",
        "show a version as a Croissant document (JSON-LD)",
        ("hub dataset croissant digits 1",),
        names={"slug": "name"},
        texts={"slug": "name of the data set"},
    ),
    Verb(
        "create-version",
        "dataset_versions.create",
        "publish a version of uploaded files; hub dataset push does it for you",
        (f"""hub dataset create-version digits --files '{{"a.csv": "sha256:{"0" * 63}1"}}'""",),
        names={"slug": "name"},
        texts={
            "slug": "name of the data set",
            "splits": "JSON object of a split; repeatable",
            "files": "JSON object: path of each file -> sha256:<hex>",
        },
    ),
    Verb(
        "get-file",
        "dataset_versions.read_file",
        "download one file of a version",
        ("hub dataset get-file digits 1 test.csv --to test.csv",),
        names={"slug": "name"},
        texts={"slug": "name of the data set", "path": "path of the file in the version"},
    ),
)
