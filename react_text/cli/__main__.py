"""`python -m react_text.cli`."""

from react_text.cli import main

main()
