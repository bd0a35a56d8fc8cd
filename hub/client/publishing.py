"""Publishing from this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hub.client.cache import Cache
from hub.client.config import Config
from hub.client.transport import Transport
from hub.protocol import problems
from hub.protocol.packages import may_be_one

if TYPE_CHECKING:
    from hub.client.local_files import Source
    from hub.client.signing import SigningKey


class Publishing:
    """The part of `hub.client.hub.Hub` that publishes."""

    config: Config
    transport: Transport
    cache: Cache

    def push(
        self,
        ref: Source,
        *paths: Source,
        name: str | None = None,
        card: str | os.PathLike[str] | None = None,
        message: str | None = None,
        label: str | None = None,
        publish: bool = True,
        create: bool = True,
        visibility: str = "public",
        wait: bool = True,
        resume: bool = False,
        force: bool = False,
        follow_links: bool = False,
        sign: SigningKey | str | os.PathLike[str] | None = None,
        strict: bool = False,
        progress: bool | None = None,
    ) -> dict[str, Any]:
        """Publish files or a folder as the next version of a model; return that version.

        `ref` is the model's name. With `name` that is the name, and every argument before is what
        to publish: `push(model, name="zoo/mlp")`. Beside paths this may be an `onnx.ModelProto`,
        which becomes model.onnx, or a mapping such as `{"model.onnx": content}`.
        A model that is missing is made (unless `create=False`) with that `visibility`. `card` is
        the path of a Markdown file, or its text; a README.md among the files is the card when none
        is given. With `wait` the checks are followed to their end and `ChecksFailed` is raised,
        with `findings`, when they refuse. Where the newest version has the same files, card and
        label, that one is returned and none is made, unless `force`. The same push continues the
        draft of a killed one; `resume` takes up the newest draft whatever it holds. Symbolic links
        that leave their folder are refused with `InvalidRequest` before anything is sent;
        `follow_links` sends what they lead to. `sign` is the private key of the publisher, a PEM
        file, a PKCS #11 URI or a `hub.client.signing.SigningKey`: the version is signed once it is
        published. Whoever demands a signature is refused until then. Errors in the package that
        the files are (docs/packages.md) are logged; with `strict` they raise `ChecksFailed` before
        the version is published, which needs `wait`.
        """
        from hub.client import local_files  # noqa: PLC0415  (each verb imports what it needs)
        from hub.client import push as pushing  # noqa: PLC0415

        if strict and not wait:
            raise problems.InvalidRequest("A strict push waits for the checks: leave wait=True.")
        sources = paths if name is None else (ref, *paths)
        parsed = pushing.model_of(ref if name is None else name)
        self.config.require_network(parsed.name, "hub.push")
        selected, folder_card = local_files.collect(sources, follow_links=follow_links)
        text = pushing.read_card(card, folder_card, follow_links=follow_links)
        files = local_files.measure(selected, progress=progress)
        push = pushing.Push(self.transport, self.cache, parsed, progress=progress)
        if sign is not None:
            push.sign(sign, files, card=text, will_publish=publish and wait)
        checked = push.preflight(files, card=text, label=label or "")
        package = may_be_one(file.path for file in files)
        if checked.identical_to is not None and not force:
            version = push.identical(checked.identical_to)
            if not wait:
                return version
            return push.wait(version, publish=publish, package=package, strict=strict)
        push.open_model(create=create, visibility=visibility)
        words, label = message or "", label or ""
        with push.remembered_key(files, card=text, message=words, label=label, fresh=force) as key:
            draft = push.open_draft(message=words, label=label, resume=resume, key=key)
            # An earlier version of this content, which a newer one has replaced.
            if draft.state != "draft" and (publish or draft.state != "submitted"):
                draft = push.open_draft(message=words, label=label, resume=False)
            note = (
                f"The draft {parsed.name}@{draft.number} was kept. Push the same files again to "
                "continue it, or others with resume=True (hub push --resume)."
            )
            version = push.run(
                draft,
                files,
                card=text,
                publish=publish and not strict,
                lacking=checked.missing,
                note=note,
            )
        if not wait:
            return version
        return push.wait(version, publish=publish, package=package, strict=strict)
