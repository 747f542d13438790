"""`python -m lostsales`: the command line."""

from lostsales.apps.cli import main

if __name__ == "__main__":
    main()
