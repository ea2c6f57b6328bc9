"""The recommended configuration of a report as a config that runs."""

from typing import Any

import yaml

from harness.config.load import set_value
from harness.display import printable
from harness.report.chapter import Chapter
from harness.report.tables.runs import changed_settings

_HEAD = """\
# Recommended by the report beside this file: {system}
# {headline}
#
#   rag-harness run -c winner.yaml                        the same run again; add -d or --docs for other data
#   harness.api.load_system("winner.yaml")                in Python: answers questions, see docs/from-python.md
#
# Relative paths are those of the folder in which the run was made: type the commands there.
# It names the models, servers, code and files of {run_id}. If that run is not yours, read this file first.

"""


def winner_config(chapter: Chapter) -> str | None:
    """The text of winner.yaml: what differs from the defaults. None if no run is recommended, or if its answers
    were imported or its config is not valid here.
    """
    verdict = chapter.findings.verdict
    view = next((one for one in chapter.group.views if one.run.run_id == verdict.recommended_run), None)
    settings = None if view is None or view.manifest.is_imported else changed_settings(view.manifest)
    if view is None or settings is None:
        return None
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        # Its name may be that of all runs of its command, which one run alone cannot take.
        if key != "name":
            set_value(tree, key, value)
    run_id, headline = printable(view.run.run_id, 200), printable(verdict.headline, 300)
    head = _HEAD.format(system=printable(view.label), headline=headline, run_id=run_id)
    return head + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
