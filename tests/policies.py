"""Other numbers in a module's policy, for one test."""

from dataclasses import replace


def change_policy(monkeypatch, module, **fields):
    """Replace fields of the module's usual policy."""
    monkeypatch.setattr(module, "USUAL", replace(module.USUAL, **fields))
