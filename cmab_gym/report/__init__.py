"""Reports: results as one HTML page with charts, tables and the settings of the runs."""

from cmab_gym.report.page import write_report

__all__ = ["write_report"]
