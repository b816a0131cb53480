"""Headless Chromium, controlled by the driver that comes with it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from utils.system import BROWSERS, DRIVER

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # the sandbox needs rights that a container lacks, and the pages are ours
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    # No other host resolves, so a page that needs one fails here.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@contextmanager
def browser(width: int = 1280, height: int = 800, *more: str) -> Iterator[webdriver.Chrome]:
    """Open a browser whose page has the given size in pixels; downloads are discarded.

    `more` are further arguments of the browser.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    if program is None or driver is None:
        if not sys.platform.startswith("linux"):
            pytest.skip("Chromium and its driver are not installed here")
        pytest.fail("Chromium is not installed; `make test` installs it on Debian as root")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (*ARGUMENTS, *more, f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        opened.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        yield opened
    finally:
        opened.quit()
