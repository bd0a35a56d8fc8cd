"""Jobs as the API gives them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from runners.models import Job


class JobOutput(serializers.Serializer[Job]):
    """A job: what it is about, how far it is, and what it found."""

    uuid = serializers.UUIDField()
    kind = serializers.CharField()
    pool = serializers.CharField()
    state = serializers.ChoiceField(Job.State.choices)
    model = serializers.CharField(source="version.model.ref", default=None, allow_null=True)
    number = serializers.IntegerField(source="version.number", default=None, allow_null=True)
    entry = serializers.CharField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    progress = serializers.IntegerField(help_text="percent")
    phase = serializers.CharField()
    message = serializers.CharField()
    error_class = serializers.CharField()
    error_detail = serializers.CharField()
    report = serializers.JSONField(allow_null=True)
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    worker = serializers.CharField()
    url = serializers.SerializerMethodField()

    def get_url(self, job: Any) -> str:
        return f"{settings.HUB_PUBLIC_URL}/jobs/{job.uuid}"
