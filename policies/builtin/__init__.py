"""The policies that come with Sluice."""
