"""The slider of the painting's width in pixels."""

from __future__ import annotations

from app.engine.engine import SIZES
from app.engine.result import StyledFrame
from app.ui.widgets.end_stop import Stop, StopSlider
from utils.translation.texts import mark, tr

TIP = mark(
    "Width of the painting in pixels: a smaller width is faster, a larger one makes finer strokes. "
    "Auto keeps their width"
)


class DetailSlider(StopSlider):
    """Auto, then the sizes of the engine, and `stored`, the size from the settings file.

    `picked` carries the long side of the network's input in pixels, or None for Auto.
    """

    def __init__(self, stored: int | None) -> None:
        sizes = sorted(size for size in {*SIZES, stored} if size is not None)
        stops = [Stop(size, tr("{size} px", size=size)) for size in sizes]
        super().__init__(tr("&Detail"), tr("Detail"), tr(TIP), stops, automatic=None)

    def show_size(self, size: int | None) -> None:
        """Show a size, which becomes a stop if it is none, without emitting signals."""
        if size not in self.values:
            self.add_stop(Stop(size, tr("{size} px", size=size)))
        self.show_value(size)

    def show_painted(self, styled: StyledFrame) -> None:
        """Show in the remark on Auto the size that the program chose for a frame."""
        if styled.config.size is None:
            width, height = styled.size
            self.show_remark(tr("Auto, {size} at the moment", size=f"{width}x{height}"))
