"""Reading and writing of the `styleforge quality` report, to which several runs may add."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from filelock import FileLock

from benchmarks.quality.inputs import QualityError, rank
from utils.files import small_json
from utils.files.atomic import atomic_write


def other_styles(path: Path, report: dict[str, Any], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return the report's styles except `keys`; none if the file does not exist.

    Raises:
        QualityError: If the report was measured under other conditions, or is not a report.
    """
    if not path.exists():
        return []
    try:
        before = small_json.load(path)
        styles = before["quality"].pop("styles")
        alike = {
            "machine": ("gpu", "tf32") if report["machine"]["gpu"] else ("cpu", "threads"),
            "versions": ("torch", "cuda", "cudnn"),
            "quality": tuple(name for name in report["quality"] if name != "styles"),
        }
        for part, names in alike.items():
            for name in names:
                if before[part].get(name) != report[part][name]:
                    raise QualityError(
                        f"cannot add to '{path.name}': it was measured with another {name}"
                    )
        return [style for style in styles if style["key"] not in keys]
    except OSError as exc:
        raise QualityError(f"cannot read the report '{path}': {exc.strerror}") from exc
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise QualityError(f"'{path.name}' is not a quality report") from exc


def store_report(path: Path, report: dict[str, Any], *, add: bool) -> None:
    """Write `report`; with `add`, keep other styles, which another run may write meanwhile."""
    styles: list[dict[str, Any]] = report["quality"]["styles"]
    try:
        with _report_lock(path) if add else nullcontext():
            if add:
                others = other_styles(path, report, [style["key"] for style in styles])
                styles += others
                if kept := _weights(path, [style["key"] for style in others]):
                    report["weights"] = kept | report["weights"]
            styles.sort(key=lambda style: rank(style["key"]))
            atomic_write(path, (json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
    except OSError as exc:
        raise QualityError(f"cannot write the report to '{path}': {exc.strerror}") from exc


def _weights(path: Path, keys: Sequence[str]) -> dict[str, str]:
    if not keys:
        return {}
    before: dict[str, str] = small_json.load(path).get("weights", {})
    return {name: digest for name, digest in before.items() if name.split("/")[0] in keys}


def _report_lock(path: Path) -> FileLock:
    """Return the lock for rewriting `path`, in the temporary folder, because its file remains."""
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return FileLock(Path(tempfile.gettempdir(), f"styleforge-{name}.lock"))
