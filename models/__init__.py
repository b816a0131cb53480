"""The networks: definition, files, execution, training and evaluation."""
