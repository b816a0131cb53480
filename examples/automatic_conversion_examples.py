"""Three ways to convert a model: python -m examples.automatic_conversion_examples."""

from __future__ import annotations

import torch
from torch import nn

from kernel_fusion.auto_convert import ModelConverter, auto_convert_model


def main() -> None:
    """Convert for a shape and for example inputs, and train a converted model."""
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    converted = auto_convert_model(network, (8, 64), keep_slower=True)
    print(f"for a shape:\n{converted.conversion_stats}")

    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    converter = ModelConverter(accuracy_threshold=1e-5, keep_slower=True)
    examples = {"src": torch.randn(2, 16, 64), "is_causal": False}
    converter.convert_model(layer, examples)
    print(f"for examples: {converter.conversion_stats['total_replaced']} replaced")

    optimizer = torch.optim.SGD(converted.parameters(), lr=0.1)
    x, labels = torch.randn(8, 64), torch.randint(10, (8,))
    losses = []
    for _ in range(20):
        loss = nn.functional.cross_entropy(converted(x), labels)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"trained from a loss of {losses[0]:.3f} to {losses[-1]:.3f}")
    network.load_state_dict(converted.state_dict())  # the keys are the same, in both directions
    converted.eval()
    with torch.no_grad():
        print(f"differs from the original by {float((converted(x) - network(x)).abs().max()):.1e}")


if __name__ == "__main__":
    main()
