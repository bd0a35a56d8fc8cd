"""Template tags for figures of benchmark results."""

from __future__ import annotations

from django import template

from frontend.presenters import measurements

register = template.Library()

register.filter("latency", measurements.latency)
register.filter("interval", measurements.interval)
register.filter("throughput", measurements.throughput)
register.filter("energy", measurements.energy)
register.filter("carbon_of", measurements.carbon)
register.filter("runtime_of", measurements.runtime_of)
register.filter("why", measurements.why)
register.filter("address", measurements.address)
