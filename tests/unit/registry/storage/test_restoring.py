"""What a restored hub forgets: uploads without their bytes, and chunks that clients believe in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from registry.models import Backup, Upload, XetStore
from registry.storage.backups import hold, restoring
from registry.storage.services import uploads
from registry.storage.xet import services as xet
from tests import factories

pytestmark = pytest.mark.django_db


def test_open_uploads_end_and_every_chunk_store_has_another_address(ada):
    used, unused = factories.model(ada, "used"), factories.model(ada, "unused")
    xet.make_store(used.pk)
    uploads.create(ada, length=10)
    factories.blob(ada, b"uploaded")
    before = {str(xet.open_store(ada, model=model)) for model in (used, unused)}
    backup = hold.begin()
    restoring._finish(SimpleNamespace(uuid=backup.pk))
    assert list(Upload.objects.values_list("state", flat=True)) == [Upload.State.STORED]
    after = {str(xet.open_store(ada, model=model)) for model in (used, unused)}
    assert len(before | after) == 4
    assert XetStore.objects.get().epoch == 2
    backup = Backup.objects.get()
    assert backup.is_whole
    assert backup.restored_at
    # The same for whoever asks later.
    assert {str(xet.open_store(ada, model=model)) for model in (used, unused)} == after
