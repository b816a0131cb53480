"""The window's interface to the engine, the source and the jobs."""

from app.live.session.opening import Spec
from app.live.session.session import Session

__all__ = ["Session", "Spec"]
