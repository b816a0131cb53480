"""The engine, which turns a frame into a styled frame."""

from app.engine.engine.engine import SIZES, Engine
from app.engine.engine.faults import EngineError
from app.engine.engine.precision_check import check_precision

__all__ = ["SIZES", "Engine", "EngineError", "check_precision"]
