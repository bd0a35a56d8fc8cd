"""Addresses of `onnx.hub`. No namespace may be called `onnx-hub`."""

from __future__ import annotations

from django.urls import re_path

from registry.protocols.onnx_hub import views

WORD = "[A-Za-z0-9._-]+"
REPO = rf"(?P<owner>{WORD})/(?P<repo>{WORD})/(?P<ref>@?[A-Za-z0-9._+/-]+?)"
# No ref has an @ after its first letter, so this is where one ends.
FILE = rf"(?P<namespace>{WORD})/(?P<name>{WORD})@(?P<number>[1-9][0-9]{{0,8}})/(?P<path>[^\x00]+)"

urlpatterns = [
    re_path(rf"^onnx-hub/media/{REPO}/{FILE}$", views.Media.as_view()),
    re_path(rf"^onnx-hub/{REPO}/ONNX_HUB_MANIFEST\.json$", views.Manifest.as_view()),
]
