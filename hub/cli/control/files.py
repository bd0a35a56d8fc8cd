"""The commands of files, cards, and names that cards state."""

from __future__ import annotations

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Verb

_FILE = f'{{"path": "a.onnx", "blob": "sha256:{"0" * 63}1"}}'

CARD = Noun(
    "card",
    "show, check and write model cards",
    (
        Verb(
            "show",
            "cards.read",
            "print the card of a version",
            ("hub card show zoo/resnet50@3",),
        ),
        Verb(
            "check",
            "cards.check",
            "check a card without storing it",
            ("hub card check README.md",),
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "put",
            "cards.put",
            "write the card of a draft",
            ("hub card put zoo/resnet50@4 README.md",),
            pinned=True,
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "import",
            "cards.import_file",
            "fill a draft's card from emissions, evaluations or a citation",
            ("hub card import zoo/resnet50@4 emissions.csv --filename emissions.csv --apply",),
            pinned=True,
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "refused",
            "refused_cards.list",
            "list the cards that were refused because of errors",
            ("hub card refused zoo/resnet50",),
            show=lambda answer: output.table(
                answer.items,
                ("id", "sent_at=sent", "author", "number=version", "detail"),
                "no refused cards",
            ),
        ),
        Verb(
            "show-refused",
            "refused_cards.read",
            "show a refused card with its findings",
            ("hub card show-refused zoo/resnet50 7",),
            names={"card_id": "id"},
        ),
        Verb(
            "delete-refused",
            "refused_cards.delete",
            "delete a refused card",
            ("hub card delete-refused zoo/resnet50 7 --yes",),
            names={"card_id": "id"},
            question="Delete the refused card {card_id} of {model}? This cannot be undone.",
            message="Deleted the refused card {card_id}",
        ),
    ),
)

FILES = Noun(
    "files",
    "download single files; change the files of a draft",
    (
        Verb(
            "get",
            "files.read",
            "download one file of a version",
            ("hub files get zoo/resnet50@3 README.md --to card.md",),
            names={"to": "to"},
        ),
        Verb(
            "get-blob",
            "files.read_blob",
            "download a file by its SHA-256",
            (f"hub files get-blob sha256:{'0' * 63}1 --to model.onnx",),
        ),
        Verb(
            "put",
            "files.put",
            "set a file of a draft to an uploaded blob",
            (f"hub files put zoo/resnet50@4 model.onnx --blob sha256:{'0' * 63}1",),
            pinned=True,
            texts={"blob": "sha256:<hex> of the uploaded file"},
        ),
        Verb(
            "put-all",
            "files.put_all",
            "set several files of a draft, all or none",
            (f"hub files put-all zoo/resnet50@4 --file '{_FILE}'",),
            pinned=True,
            names={"files": "file"},
            texts={
                "files": "JSON object with path and blob, or small content in base64; repeatable"
            },
        ),
        Verb(
            "delete",
            "files.delete",
            "remove a file from a draft",
            ("hub files delete zoo/resnet50@4 notes.txt --yes",),
            pinned=True,
            question="Remove {path} from the draft {model}@{number}?",
            message="Removed {path} from {model}@{number}",
        ),
    ),
)

NAMES = Noun(
    "names",
    "confirm which entries the names in a card refer to",
    (
        Verb(
            "list",
            "names.list",
            "list the data sets and base models that the cards of a model name",
            ("hub names list zoo/resnet50",),
        ),
        Verb(
            "confirm",
            "names.confirm",
            "confirm which entry a name refers to",
            ("hub names confirm zoo/resnet50 --kind dataset --name MNIST --target mnist",),
            texts={"name": "the name, as the card writes it"},
        ),
        Verb(
            "withdraw",
            "names.withdraw",
            "remove a confirmation",
            ("hub names withdraw zoo/resnet50 --kind dataset --name MNIST",),
            texts={"name": "the name, as the card writes it"},
            message="Removed the confirmation of {name}",
        ),
    ),
)
