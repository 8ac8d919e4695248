"""The command line, one file per command; see `logikern --help`."""
