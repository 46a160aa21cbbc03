"""The hall: settings, wiring, command line, clock."""
