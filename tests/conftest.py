"""Settings of all tests: how long one takes says nothing but how busy the machine is."""

from hypothesis import settings

settings.register_profile("sluice", deadline=None)
settings.load_profile("sluice")
