"""Deprecating models and versions on pages without scripts, and what readers see of it."""

from __future__ import annotations

import pytest

from registry.core import outbox
from registry.models import Deprecation, Membership
from registry.versions.services.deprecations import deprecate
from tests import factories, shared
from tests.unit.frontend.conftest import Reader

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs")]
MODEL = "/models/ada/net"
VERSION = f"{MODEL}/v/1"


@shared.rows
def start():
    ada = factories.somebody("ada")
    first = factories.version(ada, factories.model(ada))
    factories.version(ada, first.model)
    factories.version(ada, factories.model(ada, "better"))
    return first


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def test_a_version_is_deprecated_with_a_form_and_undone(reader, guest, version):
    assert f'href="{VERSION}/deprecate"' in reader.page(f"{MODEL}/versions")
    assert "<h1>Deprecate ada/net@1?</h1>" in reader.page(f"{VERSION}/deprecate")
    wrong = reader.post(f"{VERSION}/deprecate", {"message": "Old", "successor": "ada/none"})
    assert wrong.status_code == 422
    assert "Model ada/none not found" in wrong.content.decode()
    assert reader.post(f"{VERSION}/deprecate", {"message": " "}).status_code == 422
    sent = {"message": "Wrong <labels>", "successor": "ada/net@2"}
    assert reader.post(f"{VERSION}/deprecate", sent)["Location"] == f"{MODEL}/versions"
    banner = guest.page(VERSION)
    assert "<b>ada/net@1 is deprecated.</b>" in banner
    assert "Wrong &lt;labels&gt;" in banner
    assert f'<a href="{MODEL}/v/2">Use ada/net@2</a>' in banner
    assert "is deprecated." not in guest.page(f"{MODEL}/v/2")
    assert "Wrong &lt;labels&gt;" in guest.page(f"{MODEL}/versions")
    assert "ada/net@2" in reader.page(f"{VERSION}/deprecate")
    assert "Undo the deprecation of ada/net@1?" in reader.page(f"{VERSION}/undeprecate")
    assert reader.post(f"{VERSION}/undeprecate").status_code == 302
    assert not Deprecation.objects.exists()
    reader.page(f"{VERSION}/undeprecate", 409)


@pytest.mark.usefixtures("lists")
def test_a_model_is_deprecated_from_its_settings(reader, guest, version):
    assert f'href="{MODEL}/deprecate"' in reader.page(f"{MODEL}/settings")
    sent = {"message": "Old", "successor": "ada/better"}
    assert reader.post(f"{MODEL}/deprecate", sent)["Location"] == f"{MODEL}/settings"
    assert f'href="{MODEL}/undeprecate"' in reader.page(f"{MODEL}/settings")
    for page in (MODEL, VERSION, f"{MODEL}/versions"):
        assert '<a href="/models/ada/better">Use ada/better</a>' in guest.page(page)
    outbox.deliver()
    assert guest.page("/models").count("deprecated") == 1
    assert reader.post(f"{MODEL}/undeprecate").status_code == 302
    assert "is deprecated." not in guest.page(MODEL)


def test_strangers_and_writers_deprecate_nothing(guest, version, bob):
    Membership.objects.create(namespace=version.model.namespace, user=bob, role="writer")
    writer = Reader()
    writer.force_login(bob)
    for page in (f"{MODEL}/deprecate", f"{VERSION}/deprecate"):
        assert guest.get(page).status_code == 302
        writer.page(page, 403)
    assert "/deprecate" not in writer.page(f"{MODEL}/versions")


def test_a_model_without_versions_has_the_banner_too(reader, ada):
    deprecate(ada, factories.model(ada), message="Reserved for nothing")
    assert "Reserved for nothing" in reader.page(MODEL)
