"""Adds the page that paints in the browser to the site, at try/; a hook of mkdocs.

`styleforge export --web` writes it from the shipped styles, so the repository holds no copy.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from app.export.web.site import write_site
from app.styles.catalog import BUILTIN, Catalog

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

FOLDER = "try"


@functools.cache
def page() -> dict[str, bytes]:
    """Return the files of the page with the nine shipped styles, by name."""
    with tempfile.TemporaryDirectory() as folder:
        user = Path(folder) / "none"  # a visitor gets the shipped styles only
        site = Path(folder) / "site"
        write_site(site, Catalog(BUILTIN, user).styles)
        return {path.name: path.read_bytes() for path in sorted(site.iterdir())}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the page, which mkdocs copies without a theme."""
    from mkdocs.structure.files import File  # the page is tested where mkdocs is not installed

    for name, content in page().items():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files
