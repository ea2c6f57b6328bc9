"""Figures of a report: the same drawing as SVG and PNG files and in the page."""
