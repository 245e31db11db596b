import pytest


@pytest.fixture
def submit(tmp_path):
    """Write a submission to a file and return its path."""

    def write(source, name="student.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        return path

    return write


@pytest.fixture
def grade(submit):
    """Grade a source on a small assignment, with keyword arguments of the assignment."""
    from submissions import small_assignment  # loads NumPy: see pytest_configure

    from cmab_gym.grading import Grader, Limits

    def graded(source, limits=None, seed=0, **keywords):
        limits = limits or Limits(seconds=20)
        return Grader(small_assignment(**keywords), seed, limits).grade(submit(source))

    return graded
