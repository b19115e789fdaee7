"""Print the section that shows an exhibit, for `make figure`; say in one line why there is none."""

import sys

from reproduction.claims.exhibits import load_exhibits


def main(exhibit: str) -> None:
    """Print the id of the section of ``exhibit``, or end with what is wrong with it."""
    try:
        section = load_exhibits("config/exhibits.yaml").section_of(exhibit)
    except ValueError as error:
        sys.exit(str(error))
    if not section.built:
        sys.exit(f"{exhibit} is still to come: its section, {section.title}, has no notebook yet")
    print(section.id)


if __name__ == "__main__":
    main(sys.argv[1])
