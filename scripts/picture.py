#!/usr/bin/env python3
"""Takes the picture of a model page that the README shows, from a hub that runs.

Publish models first and wait for their evidence: nothing on the picture is made up.

    scripts/picture.py http://127.0.0.1:8000/models/zoo/resnet50
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parent.parent / "docs/pictures/model-page.png"
SIZE = {"width": 1280, "height": 900}


def main() -> None:
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Install chromium first.")
    TARGET.parent.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(sys.argv[1], wait_until="networkidle")
        page.screenshot(path=TARGET)
        browser.close()
    print(TARGET)


if __name__ == "__main__":
    main()
