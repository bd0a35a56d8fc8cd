"""The page of starter models: for administrators, with a button for each model."""

from __future__ import annotations

import pytest
from django.test import Client

from runners.models import Job
from runners.starter import imports, manifest

pytestmark = [pytest.mark.capability("starter"), pytest.mark.django_db]
PAGE = "/administration/starter"


@pytest.fixture
def chief(admin):
    client = Client()
    client.force_login(admin)
    return client


def text(client, page=PAGE):
    return client.get(page).content.decode()


def test_each_model_has_its_size_its_licence_and_a_button(chief):
    page = text(chief)
    for model in manifest.models().values():
        assert f'aria-label="Import {model.name}"' in page
        assert model.summary in page
    assert "code MIT" in page  # of nsnet2, whose weights are under another licence
    assert f'href="{PAGE}"' in text(chief, "/administration")


def test_a_request_is_a_job_whose_page_is_linked(chief):
    answer = chief.post(f"{PAGE}/magika")
    assert answer["Location"] == PAGE
    job = Job.objects.get(kind=imports.KIND)
    page = text(chief)
    assert "The import of magika is queued." in page
    assert f"/jobs/{job.pk}" in page
    assert 'aria-label="Import magika"' not in page
    assert chief.get(f"/jobs/{job.pk}").status_code == 200


def test_a_failure_says_why_and_offers_the_button_again(chief):
    chief.post(f"{PAGE}/magika")
    Job.objects.update(state=Job.State.FAILED, error_detail="pip could not fetch magika 1.0.3.")
    page = text(chief)
    assert "pip could not fetch magika 1.0.3." in page
    assert 'aria-label="Import magika"' in page


def test_others_see_neither_the_page_nor_the_link(ada):
    client = Client()
    client.force_login(ada)
    assert client.get(PAGE).status_code == 403
    assert client.post(f"{PAGE}/magika").status_code == 403
    assert Client().get(PAGE).status_code == 302
