"""The engine that styles one frame: networks, sizes, weights, and picture arithmetic. No Qt."""
