"""The commands of `cmab-gym`, one module each.

Every function named in `cmab_gym.cli.parser` takes the parsed arguments and returns the exit code.
"""
