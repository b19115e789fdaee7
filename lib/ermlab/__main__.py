"""Run the command `ermlab` as ``python -m ermlab``."""

from ermlab.cli import main

if __name__ == "__main__":
    main()
