"""Extensions from outside the package, one of each interface; docs/architecture.md points here."""
