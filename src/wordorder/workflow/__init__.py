"""Targets, inputs, parameters and resources of the workflow's rules, derived from the studies."""
