"""Devices and execution providers of a machine, and what their counters read."""
