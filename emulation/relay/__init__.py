"""A relay that emulates a link between TCP connections, without root."""
