"""The names of all files of a run directory. Whatever reads, copies or leaves out files takes them from here."""

from enum import StrEnum

SCORES, ANNOTATIONS = "scores", "annotations"
"""Folders: with two files for each evaluator, and with one for each annotator."""


class RunFile(StrEnum):
    MANIFEST = "manifest.json"
    SAMPLE = "sample.jsonl"
    ESTIMATE = "estimate.json"
    INDEX = "index.json"
    JOURNAL = "calls.sqlite"
    RECORDS = "records.jsonl"
    DAMAGED_RECORDS = "records.damaged.jsonl"
    RESOURCES = "resources.csv"
    LOG = "worker.log"
    SERVER_LOG = "server.log"
    REACH = "reach.json"
    RACE = "race.json"
    DIALECTS = "dialects.json"
    CLUSTER = "spread.json"
    TAGS = "tags.json"
    LOAD = "load.json"
    ROBUSTNESS = "robustness.json"
    DONE = "done.json"
    LOCK = ".lock"


EXTENSION_FILES = (RunFile.LOAD, RunFile.ROBUSTNESS)
"""Each is written and read by one extension, with `RunDir.extension_file`."""
