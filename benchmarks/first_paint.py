"""When Chromium first paints text or a picture of each page, and how far a page shifts afterwards.

A new context for each visit has no cache, so styles, scripts and fonts come from the hub too. The
last column is Chromium's layout shift score (https://web.dev/articles/cls) until a second after the
load, for a reader whose time zone and number format are not those of the hub.

    HUB_URL=http://127.0.0.1:8000 python benchmarks/first_paint.py zoo/digits-cnn --visits 9
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import sync_playwright

from tests import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAINT_MS, SHIFT = 300, 0.0
AFTER_LOAD_MS = 1000
OBSERVE = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
READ = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const [load] = performance.getEntriesByType("navigation");
  return [load.responseStart, paint?.startTime ?? null, window.shift];
}"""


class Visit(NamedTuple):
    """Milliseconds until the first byte and the first paint, and the layout shift score."""

    first_byte: float
    first_paint: float
    shift: float


def visit(browser: Browser, url: str, width: int) -> Visit:
    """Open a page without a cache; raises RuntimeError where nothing is painted."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, locale="de-DE", timezone_id="Asia/Tokyo"
    )
    try:
        page = context.new_page()
        page.add_init_script(OBSERVE)
        page.goto(url, wait_until="load")
        page.wait_for_timeout(AFTER_LOAD_MS)
        first_byte, first_paint, shift = page.evaluate(READ)
    finally:
        context.close()
    if first_paint is None:
        raise RuntimeError(f"{url} painted nothing.")
    return Visit(first_byte, first_paint, shift)


def main() -> None:
    """Visit each page at two widths and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a model with a published version 1")
    parser.add_argument("--visits", type=int, default=5)
    parser.add_argument("--width", type=int, nargs="*", default=[1440, 390])
    options = parser.parse_args()
    hub = os.environ.get("HUB_URL", "http://127.0.0.1:8000")
    version = f"/models/{options.model}/v/1"
    pages = ["/", "/models", "/find", "/benchmarks", version, f"{version}/graph"]
    pages += [f"{version}/{tab}" for tab in ("benchmarks", "conformance", "provenance", "files")]
    print(f"{'page':40} width  first byte  first paint  worst  shift   (ms)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=["--no-sandbox"])
        slow = 0
        for page in pages:
            for width in options.width:
                visit(browser, hub + page, width)  # the hub has read its templates
                visits = [visit(browser, hub + page, width) for _ in range(options.visits)]
                paint = statistics.median(each.first_paint for each in visits)
                shift = max(each.shift for each in visits)
                slow += paint >= PAINT_MS or shift > SHIFT
                print(
                    f"{page:40} {width:5} {statistics.median(v.first_byte for v in visits):11.0f} "
                    f"{paint:12.0f} {max(v.first_paint for v in visits):6.0f} {shift:6.3f}",
                    flush=True,
                )
        browser.close()
    print(f"{slow} of {len(pages) * len(options.width)} pages above {PAINT_MS} ms or with a shift")


if __name__ == "__main__":
    main()
