"""The command `logikern`, also as `python -m logikern`."""

import sys


def main() -> None:
    """Run the command line; an error says how to install its libraries if they are missing."""
    try:
        from logikern.cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"error: the command line needs {error.name}. Install it with `pip install 'logikern[cli]'`.")
    run()


if __name__ == "__main__":
    main()
