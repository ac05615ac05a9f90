"""Link emulators behind one interface."""
