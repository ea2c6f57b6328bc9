"""The tables and figures of the papers behind this project, by one command: `rag-harness reproduce thesis`.

A paper is a module here with a `PAPER` (`paper.Paper`): its configs in `configs/reproduce`, and an `Item` for each
of its tables and figures. An item makes a `Table` from the runs; a figure is drawn from that table, so that its
numbers are always in a file as well. Items without any number, and figures whose numbers are all equal, are
reported as missing, with a reason. Published values are in `configs/reproduce/published/<paper>.csv`
(`harness.report.published`): an item whose table has the same row and column names gets them beside its own.

To add a paper: write its module, its configs and its CSV file, and name it in `paper.PAPERS`.
"""
