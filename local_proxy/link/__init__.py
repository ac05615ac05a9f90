"""The device's end of the link: sessions, what arrives, what goes up."""
