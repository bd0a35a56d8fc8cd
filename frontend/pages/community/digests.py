"""Digests of watched models: the mail, the job that sends what is due, and the way out."""

from __future__ import annotations

from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from urllib.parse import urljoin

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from frontend.pages.community import watching
from frontend.parts.plain_text import plain_text
from frontend.presenters.forms import as_message
from hub.protocol import problems
from registry.community import digests, interest
from registry.core import mail
from registry.models import WatchDigest

log = structlog.get_logger(__name__)


def send_due() -> int:
    """Send the digests that are due; returns how many mails the server took.

    Where the server does not answer, all wait for the next time.
    """
    sent = 0
    for digest in digests.due() if mail.is_possible() else ():
        until = timezone.now()
        html = _content(digest)
        if not html:
            if digests.claim(digest):
                digests.complete(digest, until)
            continue
        try:
            server = mail.connection()
        except (SMTPException, OSError) as error:
            log.warning("digests_wait", error=str(error)[:200])
            return sent
        with server:
            if not digests.claim(digest):
                continue
            try:
                mail.send(
                    digest.user.email,
                    f"News of models that you watch ({digest.interval})",
                    plain_text(html),
                    html=html,
                    headers=_headers(digest),
                    over=server,
                )
            except (SMTPResponseException, SMTPRecipientsRefused) as error:
                log.warning("digest_refused", user=digest.pk, error=str(error)[:200])
                digests.postpone(digest)
                continue
            except (SMTPException, OSError) as error:
                # Whether the server has it is unknown, so the next digest says it again.
                log.warning("digest_uncertain", user=digest.pk, error=str(error)[:200])
                continue
        digests.complete(digest, until)
        sent += 1
    return sent


@never_cache
@login_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Choose how often a digest comes."""
    interval = request.POST.get("interval", "")
    if interval not in (*digests.Interval.values, digests.NEVER):
        raise problems.InvalidRequest.at("/interval", "Choose daily, weekly or never.")
    with as_message(request, problems.StateConflict):
        digests.set_interval(request.user, interval=interval)
        messages.success(request, f"Digest by mail: {interval}.")
    return HttpResponseRedirect(reverse("watching"))


@csrf_exempt  # the signed link is what permits it: RFC 8058, section 3.2
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, secret: str) -> HttpResponse:
    """End digests with the link of a mail: a page with a button, or the request of a mail program.

    A read changes nothing, since programs follow links of mails by themselves.
    """
    reader = digests.reader_of(secret)
    if request.method == "POST":
        digests.unsubscribe(secret)
    context = {"reader": reader, "is_over": request.method == "POST"}
    return render(request, "community/unsubscribe.html", context)


def _content(digest: WatchDigest) -> str:
    """The mail as HTML, of what its user may read now; empty without news."""
    watches = list(interest.watches(digest.user)[: watching.MODELS])
    rows = watching.news(digest.user, [row.model_id for row in watches])
    fresh = [row for row in rows if row["at"] > digest.covered_until]
    if not fresh:
        return ""
    context = {
        "user": digest.user,
        "interval": digest.interval,
        "rows": [
            row | {"url": urljoin(settings.HUB_PUBLIC_URL, row["url"])}
            for row in fresh[: watching.NEWS]
        ],
        "more": len(fresh) > watching.NEWS,
        "watching": urljoin(settings.HUB_PUBLIC_URL, reverse("watching")),
        "way_out": _way_out(digest),
    }
    return render_to_string("community/email/digest.html", context)


def _way_out(digest: WatchDigest) -> str:
    path = reverse("watching-unsubscribe", args=[digests.secret_of(digest.user)])
    return urljoin(settings.HUB_PUBLIC_URL, path)


def _headers(digest: WatchDigest) -> dict[str, str]:
    return {
        "List-Unsubscribe": f"<{_way_out(digest)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
