"""Extras: packages that this one can do without, until something needs them."""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, such as "rl".

    pip finds the extra in the package that is installed already, also if that came from a clone.
    """
    return f"pip install 'cmab-gym[{extra}]'"
