"""Everything with a life: the only trio of the package."""
