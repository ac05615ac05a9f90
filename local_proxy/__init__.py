"""The local proxy: on the device behind the slow link."""
