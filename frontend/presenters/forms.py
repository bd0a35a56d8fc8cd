"""What people type into the pages: shapes and plain limits; whether it is allowed, services say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from frontend.parts import labels
from hub.protocol import problems, refs
from hub.protocol.variants import KINDS, Option, with_option
from hub.protocol.vocabularies import TASKS
from registry.api import sign_in
from registry.models import Namespace, User, Variant
from registry.people.services import users
from registry.people.services.tokens import MOST_LIMITS

SCOPES = (
    ("read", "read: search and download, including private models"),
    ("write", "write: create drafts, upload, submit"),
    ("publish", "publish: publish, yank, withdraw, move aliases"),
    ("admin", "admin: manage tokens and members, delete models"),
)


def offer(form: forms.Form, field: str, choices: Iterable[tuple[object, str]]) -> None:
    """Set the choices of a field that depend on the reader."""
    chooser = form.fields[field]
    assert isinstance(chooser, forms.ChoiceField)  # noqa: S101 - declared in each form
    chooser.choices = list(choices)


def explain(form: forms.Form, problem: problems.Problem, field: str | None = None) -> None:
    """Put a refusal of a service beside the fields that it points at, else beside ``field``."""
    for error in problem.errors or [{"detail": problem.detail}]:
        pointer = error.get("pointer", "").rpartition("/")[2]
        form.add_error(pointer if pointer in form.fields else field, error["detail"])


@contextmanager
def explained(form: forms.Form) -> Iterator[None]:
    """Put the refusal of a service into the form."""
    try:
        yield
    except problems.Problem as problem:
        explain(form, problem)


@contextmanager
def as_message(request: HttpRequest, *kinds: type[problems.Problem]) -> Iterator[None]:
    """Show a refusal of these kinds as a message on the next page."""
    try:
        yield
    except kinds as problem:
        messages.error(request, problem.detail)


def page(
    request: HttpRequest, template: str, form: forms.Form, context: Mapping[str, Any]
) -> HttpResponse:
    """A page with a form; its status is 422 where something in the form was refused."""
    status = 422 if form.errors else 200
    return render(request, template, {**context, "form": form}, status=status)


class SeveralFiles(forms.ClearableFileInput):
    """A file field that takes several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files; at least one where it is required."""

    widget = SeveralFiles

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        """Check each file on its own."""
        each = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(file, initial) for file in each]


class Named(forms.CharField):
    """A name of a namespace or a model."""

    def validate(self, value: str) -> None:
        """Apply the rule for names that client and server share."""
        super().validate(value)
        try:
            refs.check_name(value)
        except problems.InvalidName as error:
            raise forms.ValidationError(error.detail) from error


class VersionForm(forms.Form):
    """A new version of a model that exists."""

    message = forms.CharField(
        label="Changes",
        max_length=500,
        required=False,
        help_text="One line, shown in the list of versions.",
    )
    label = forms.CharField(
        label="Label",
        max_length=64,
        required=False,
        help_text="For example 1.4.0. The version number is assigned automatically.",
    )
    file = FilesField(label="Files")

    def clean_label(self) -> str:
        """Apply the rule for labels that client and server share."""
        label = str(self.cleaned_data["label"])
        try:
            return refs.check_label(label) if label else ""
        except problems.InvalidName as error:
            raise forms.ValidationError(error.detail) from error


class NamespaceForm(forms.Form):
    """What belongs to one of several namespaces."""

    namespace = forms.ChoiceField(label="Namespace")

    def __init__(self, *args: Any, namespaces: Sequence[Namespace] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "namespace", ((namespace.slug, namespace.slug) for namespace in namespaces))


class VisibilityForm(forms.Form):
    """Who sees a model."""

    visibility = forms.ChoiceField(
        label="Visibility",
        choices=[
            ("public", "Public, once published"),
            ("private", "Private, members of the namespace and users with granted access"),
        ],
    )


class DescriptionForm(forms.Form):
    """How lists describe a model; ``task`` is offered though it is not in the list of tasks."""

    license = forms.CharField(
        label="Licence",
        max_length=64,
        required=False,
        help_text="SPDX identifier, for example Apache-2.0.",
        widget=forms.TextInput(attrs={"list": "licences"}),
    )
    task = forms.ChoiceField(label="Task", required=False)
    summary = forms.CharField(
        label="Summary", max_length=300, required=False, help_text="One sentence, shown in lists."
    )

    def __init__(self, *args: Any, task: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tasks = [*TASKS, *([task] if task and task not in TASKS else [])]
        offer(self, "task", [("", "not declared"), *((name, labels.task(name)) for name in tasks)])


class ModelForm(NamespaceForm, VisibilityForm, DescriptionForm, VersionForm):
    """A new model and its first version."""

    name = Named(label="Name", max_length=96, help_text="Letters, digits, dot, hyphen, underscore.")
    field_order = ("namespace", "name", "visibility", "license", "task", "summary")


class DeriveForm(forms.Form):
    """A variant that a maintainer asks for."""

    kind = forms.ChoiceField(
        label="Kind",
        choices=[(kind.name, kind.label) for kind in KINDS.values()],
        help_text="An opset variant is stored only if its outputs are equal; a precision variant "
        "is stored with its measured difference.",
    )
    source = forms.ChoiceField(label="From")
    opset = forms.IntegerField(
        label="Target opset",
        required=False,
        min_value=1,
        help_text="Higher or lower than the current one. Empty: the highest supported opset.",
    )
    calibration = forms.FileField(
        label="Calibration sample",
        required=False,
        help_text=f"For {with_option(Option.CALIBRATION)}: an .npz file with an array for each "
        "input. Empty: the test data of the version.",
        widget=forms.FileInput(attrs={"accept": ".npz"}),
    )
    keep_float32 = forms.CharField(
        label="Nodes kept in float32",
        required=False,
        help_text=f"For {with_option(Option.KEEP_FLOAT32)}: names of nodes, one per line. Nodes "
        "that would overflow stay in float32 by themselves.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, variants: Sequence[Variant] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "source", ((row.name, row.name) for row in variants))

    def clean_keep_float32(self) -> list[str]:
        lines = str(self.cleaned_data.get("keep_float32") or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def clean_calibration(self) -> Any:
        sample = self.cleaned_data.get("calibration")
        kind = KINDS.get(self.cleaned_data.get("kind", ""))
        if sample and (kind is None or Option.CALIBRATION not in kind.options):
            calibrated = with_option(Option.CALIBRATION)
            raise forms.ValidationError(f"Only {calibrated} uses a calibration sample.")
        if sample and not str(sample.name).lower().endswith(".npz"):
            raise forms.ValidationError("Choose an .npz file written by numpy.savez.")
        return sample


class TokenForm(forms.Form):
    """A token for programs."""

    name = forms.CharField(label="Name", max_length=100, help_text="What you use the token for.")
    scopes = forms.MultipleChoiceField(
        label="Scopes",
        choices=SCOPES,
        initial=["read", "write"],
        widget=forms.CheckboxSelectMultiple,
    )
    limits = forms.CharField(
        label="Only for",
        required=False,
        max_length=20_000,
        help_text="Namespaces and models, one per line, for example lab or lab/resnet50. Empty for "
        "everything that you can access.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    expires_days = forms.IntegerField(
        label="Expires after (days)", min_value=1, max_value=366, initial=90
    )

    def clean_limits(self) -> list[str]:
        names = str(self.cleaned_data["limits"]).split()
        if len(names) > MOST_LIMITS:
            raise forms.ValidationError(f"Name at most {MOST_LIMITS} namespaces and models.")
        return names

    @property
    def values(self) -> dict[str, Any]:
        """The fields of a token, as services take them."""
        fields = dict(self.cleaned_data)
        names = fields.pop("limits")
        return fields | {
            "namespaces": [name for name in names if "/" not in name],
            "models": [name for name in names if "/" in name],
        }


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": "Incorrect user name or password. Both are case-sensitive.",
        "inactive": "This account is closed.",
    }


class PasswordForm(PasswordChangeForm):
    """The old password and a new one."""

    revoke_tokens = forms.BooleanField(
        label="Also revoke my access tokens",
        required=False,
        help_text="Select this if your password may be compromised.",
    )

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        """Check the old password, within the limits on failed sign-ins; raises Throttled."""
        password = str(self.cleaned_data["old_password"])
        if not sign_in.confirm(self._request, self.user, password):
            raise forms.ValidationError(
                self.error_messages["password_incorrect"], code="password_incorrect"
            )
        return password

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002 - Django's signature
        """Change the password."""
        users.change_password(
            self.user,
            password=self.cleaned_data["new_password1"],
            revoke_tokens=self.cleaned_data["revoke_tokens"],
        )
        return self.user
