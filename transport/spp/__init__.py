"""SPP: payloads over UDP, each exactly once (docs/decisions/0009-spp.md)."""
