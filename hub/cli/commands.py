"""Every command of `hub`, by section; each module is imported when its command is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

# Section -> command -> where it is declared, below hub.cli.
SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Models": {
        "search": "models:add_search",
        "find": "find:add_find",
        "info": "models:add_info",
        "get": "models:add_get",
        "push": "publishing:add_push",
        "import": "imports:add_to",
        "mirror": "control.mirrors:MIRROR",
        "create": "control.models:CREATE",
        "edit": "control.models:EDIT",
        "visibility": "control.models:VISIBILITY",
        "move": "control.models:MOVE",
        "delete": "control.models:DELETE",
        "deletions": "control.models:DELETIONS",
        "access": "control.models:ACCESS",
        "like": "control.models:LIKE",
        "unlike": "control.models:UNLIKE",
        "likes": "control.models:LIKES",
        "watch": "control.models:WATCH",
        "unwatch": "control.models:UNWATCH",
        "watching": "control.models:WATCHING",
        "digest": "control.models:DIGEST",
        "collection": "control.collections:COLLECTION",
        "saved-comparison": "control.comparisons:SAVED_COMPARISON",
        "discussion": "control.discussions:DISCUSSION",
    },
    "Versions": {
        "versions": "control.versions:VERSIONS",
        "diff": "control.tasks:DIFF",
        "deprecate": "control.versions:DEPRECATE",
        "undeprecate": "control.versions:UNDEPRECATE",
        "yank": "control.versions:YANK",
        "restore": "control.versions:RESTORE",
        "withdraw": "control.versions:WITHDRAW",
        "alias": "control.refs:ALIAS",
        "tag": "control.refs:TAG",
        "card": "control.files:CARD",
        "files": "control.files:FILES",
        "names": "control.files:NAMES",
        "sign": "signing:add_sign",
        "signatures": "control.signatures:SIGNATURES",
        "variant": "publishing:add_variant",
        "variants": "control.evidence:VARIANTS",
    },
    "Evidence": {
        "verify": "provenance:add_verify",
        "witness": "provenance:add_witness",
        "bench": "",
        "benchmarks": "control.evidence:BENCHMARKS",
        "comparisons": "control.evidence:COMPARISONS",
        "package": "control.evidence:PACKAGE",
        "conformance": "control.evidence:CONFORMANCE",
        "evaluate": "evaluate:add_evaluate",
        "evaluations": "control.evidence:EVALUATIONS",
        "scoreboard": "control.evidence:SCOREBOARD",
        "runtimes": "control.evidence:RUNTIMES",
        "devices": "control.evidence:DEVICES",
        "environments": "control.evidence:ENVIRONMENTS",
    },
    "Data": {
        "dataset": "datasets:add_to",
        "query": "control.tasks:QUERY",
    },
    "Jobs": {
        "jobs": "control.queue:JOBS",
        "workers": "control.queue:WORKERS",
        "pools": "control.queue:POOLS",
    },
    "Federated training and fleets": {
        "training": "control.federated:TRAINING",
        "rounds": "control.federated:ROUNDS",
        "fleet": "control.federated:FLEET",
    },
    "Accounts": {
        "login": "login:add_to",
        "logout": "control.tasks:LOGOUT",
        "whoami": "control.accounts:WHOAMI",
        "token": "control.accounts:TOKEN",
        "namespaces": "control.accounts:NAMESPACES",
        "members": "control.accounts:MEMBERS",
        "service-accounts": "control.service_accounts:SERVICE_ACCOUNTS",
        "publishers": "control.service_accounts:PUBLISHERS",
        "signers": "control.signatures:SIGNERS",
        "users": "control.accounts:USERS",
        "sessions": "control.accounts:SESSIONS",
        "events": "control.events:EVENTS",
        "security-events": "control.events:SECURITY_EVENTS",
        "webhooks": "control.webhooks:WEBHOOKS",
    },
    "This machine": {
        "cache": "cache:add_to",
        "completion": "completion:add_to",
        "mcp": "mcp_server:add_to",
        "help": "help:add_to",
    },
    "Server": dict.fromkeys(("serve", "worker", "graphs", "doctor", "support", "manage"), ""),
}
# Commands that read their own arguments, and what their help says.
OWN_PARSERS: Final = {
    "bench": "benchmark a model on this machine",
    "serve": "run the hub on this machine: web server and workers",
    "worker": "start another worker for a hub, optionally for another runtime",
    "graphs": "deliver events and keep graphs up to date; `hub serve` does this for you",
    "doctor": "check the settings of a hub and whether its backends answer",
    "support": "write the state of a hub into a file, without secrets",
    "manage": "run a maintenance command, such as verify_blobs; without arguments, list them",
}
# Examples of commands that are no declarations of hub.cli.control; those have their own.
EXAMPLES: Final = {
    "search": ("hub search resnet --license apache-2.0", "hub search --sort fastest --json"),
    "find": ("hub find --task image-classification --max-p50 20ms --on 'this machine'",),
    "info": ("hub info zoo/resnet50@3",),
    "get": (
        "hub get zoo/resnet50",
        "hub get zoo/resnet50@champion:int8 --to models",
        "hub get zoo/resnet50@3 --layout triton --to repository --max-batch-size 32",
    ),
    "push": ("hub push zoo/resnet50 model.onnx --card README.md -m 'Retrained'",),
    "sign": (
        "hub sign zoo/resnet50@3 model.onnx README.md --key key.pem",
        "hub sign zoo/resnet50@3 --bundle model.sig --public-key key.pub",
    ),
    "import hf": ("hub import hf onnx-community/some-model --namespace zoo",),
    "import starter": ("hub import starter --list", "hub import starter magika silero-vad"),
    "import zoo": ("hub import zoo --help",),
    "variant": ("hub variant zoo/resnet50 int8", "hub variant zoo/resnet50 upgrade --opset 21"),
    "evaluate": ("hub evaluate zoo/digits-cnn --on digits@1:test",),
    "dataset push": ("hub dataset push digits data/ --splits splits.yaml",),
    "dataset get": ("hub dataset get digits@1 --to data",),
    "dataset show": ("hub dataset show digits",),
    "dataset list": ("hub dataset list handwritten",),
    "login": ("hub login --url https://hub.example.org", "hub login < token.txt"),
    "cache list": ("hub cache list", "hub cache list --json"),
    "cache prune": ("hub cache prune --unused-days 30", "hub cache prune --max-size 20GB"),
    "cache verify": ("hub cache verify",),
    "cache pin": ("hub cache pin zoo/resnet50@3",),
    "cache unpin": ("hub cache unpin zoo/resnet50@3",),
    "mcp": ("hub mcp", "hub mcp --write"),
    "help": ("hub help", "hub help jobs watch"),
}
NAMES: Final = tuple(name for section in SECTIONS.values() for name in section)


def add_to(commands: Any, only: str | None = None) -> None:
    """Add one command to the commands of a parser, or all."""
    for section in SECTIONS.values():
        for name, place in section.items():
            if only not in {None, name}:
                continue
            if not place:
                commands.add_parser(name, help=OWN_PARSERS[name], add_help=False)
                continue
            module, _, attribute = place.partition(":")
            target = getattr(import_module(f"hub.cli.{module}"), attribute)
            getattr(target, "add_to", target)(commands)
