"""One Hypothesis profile: no deadlines on a shared machine, the same examples on every run."""

from hypothesis import settings

settings.register_profile("lostsales", deadline=None, derandomize=True)
settings.load_profile("lostsales")
