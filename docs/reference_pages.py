"""Lists the pages of decisions, and adds a page for each package; a hook of mkdocs.

Nobody types these lists, so a new page or module cannot be missing from them. The hook also copies
the reports that pages link to, because `benchmarks/reports/` is outside the folder of the pages.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
REPORTS = "benchmarks/reports/library-*.json"
FOLDER = "reference/packages"
ROOMS = ("kernel_fusion", "models", "kernels", "utils", "app", "benchmarks")


def packages() -> dict[str, list[str]]:
    """Return the modules of every package, by its name; a package itself comes first."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        modules = found.setdefault(".".join(parts[:-1]), [])
        if parts[-1] != "__init__":
            modules.append(".".join(parts))
        elif path.stat().st_size:
            modules.insert(0, ".".join(parts[:-1]))
    return {package: modules for package, modules in sorted(found.items(), key=_order) if modules}


def _order(item: tuple[str, list[str]]) -> tuple[int, str]:
    return ROOMS.index(item[0].partition(".")[0]), item[0]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the decisions and the pages of the packages to the navigation."""
    decisions = (ROOT / "docs" / "decisions").glob("*.md")
    names = sorted((path.name for path in decisions), key=lambda name: (name != "index.md", name))
    listed = [f"decisions/{name}" for name in names]
    pages = [f"{FOLDER}/{name}.md" for name in ("index", *packages())]
    config.nav = [*(config.nav or []), {"Decisions": listed}, {"Packages": pages}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every package, one that lists them, and the reports."""
    listed = packages()
    for package, modules in listed.items():
        parts = [f"# {package}", *(directive(module) for module in modules)]
        add(files, config, f"{package}.md", "\n\n".join(parts))
    lines = [f"- [{package}]({package}.md)" for package in listed]
    add(files, config, "index.md", "# Packages\n\n" + "\n".join(lines))
    for path in sorted(ROOT.glob(REPORTS)):
        uri = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to reports lead to their copies: the site has no folder above the pages."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./benchmarks/", r"](\1benchmarks/", markdown)


def directive(module: str) -> str:
    """Return the directive that documents `module` without its subpackages."""
    return f"::: {module}\n    options:\n      show_submodules: false"


def add(files: Files, config: MkDocsConfig, name: str, text: str) -> None:
    """Add the page `name` of the packages."""
    files.append(File.generated(config, f"{FOLDER}/{name}", content=f"{text}\n"))
