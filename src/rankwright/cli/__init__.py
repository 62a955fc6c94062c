"""The ``rankwright`` command: thin, it parses, calls the library and prints."""
