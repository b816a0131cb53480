"""The network of a style as a file of another program's format, see `exporter`."""

from __future__ import annotations

from app.export.network.exporter import Exported as Exported
from app.export.network.exporter import ExportError as ExportError
from app.export.network.exporter import Wanted as Wanted
from app.export.network.exporter import export_network as export_network
from app.export.network.formats import FORMATS as FORMATS
