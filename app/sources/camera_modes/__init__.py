"""What a camera can be asked for: sizes, rates and exposure."""
