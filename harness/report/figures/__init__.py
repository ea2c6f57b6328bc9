"""Figures of a report, as SVG files and on the page."""
