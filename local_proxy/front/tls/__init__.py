"""TLS towards browsers, by the device's own authority."""
