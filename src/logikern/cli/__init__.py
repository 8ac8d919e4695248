"""How does a shell see it? One file per command; see `logikern --help`."""
