"""The common part of runs that several devices or machines share."""
