"""Laws draw large inputs on a shared machine: no deadline, and no complaint about their size."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "laws",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
settings.load_profile("laws")
