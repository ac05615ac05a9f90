"""One end of an SPP connection without its socket. It knows neither clock nor tasks."""
