"""The code that measures StyleForge and its operations, and the reports that it wrote."""
