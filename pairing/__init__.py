"""Who may use which remote proxy: identities, the string that pairs two ends, what ends keep."""
