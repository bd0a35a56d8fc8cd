"""Models by what they come from: the facts of lists follow what guests may know."""

from __future__ import annotations

import pytest

from registry.versions.services import registered_models
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


def publish(owner, name, base=""):
    card = f"---\nlicense: mit\nbase_model: {base}\n---\n# A model\n" if base else "# A model\n"
    return factories.published(owner, factories.model(owner, name), card=card)


@pytest.fixture
def family(ada):
    """Three generations: each comes from the one before."""
    family = [publish(ada, "root"), publish(ada, "child", "ada/root@1")]
    family.append(publish(ada, "heir", "ada/child@1"))
    factories.work()
    return family


def heirs(api, name):
    answer = api().get(f"models?derived_from={name}").json()
    return {row["ref"] for row in answer["items"]}


def show(ada, version, visibility):
    registered_models.edit(ada, model=version.model, visibility=visibility)
    factories.work()


def test_a_hidden_ancestor_hides_what_lies_behind_it(api, ada, family):
    root, child, _ = family
    assert heirs(api, "ada/root") == {"ada/child", "ada/heir"}
    show(ada, child, "private")
    assert heirs(api, "ada/root") == set()
    assert heirs(api, "ada/child") == set()
    show(ada, child, "public")
    assert heirs(api, "ada/root") == {"ada/child", "ada/heir"}
    show(ada, root, "private")
    assert heirs(api, "ada/root") == set()
    assert heirs(api, "ada/child") == {"ada/heir"}


def test_a_base_keeps_its_heirs_under_a_new_name(api, ada, family):
    model = family[0].model
    registered_models.move(ada, model=model, namespace=model.namespace, name="trunk")
    factories.work()
    assert heirs(api, "ada/trunk") == {"ada/child", "ada/heir"}
    assert heirs(api, "ada/root") == {"ada/child", "ada/heir"}


def test_a_day_that_is_none_is_refused(api):
    for parameter in ("published_since=2026-02-30", "published_until=yesterday"):
        assert api().get(f"models?{parameter}").status_code == 400
        assert api().get(f"/models?{parameter}").status_code == 400
    assert api().get("models?published_since=").status_code == 200
