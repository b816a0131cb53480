"""`python -m benchmarks.tables PAGE ...`: writes the figures of stored reports into pages."""

from __future__ import annotations

import sys

from benchmarks.tables.pages import main

sys.exit(main())
