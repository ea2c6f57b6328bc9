"""The scores of each query, without any question, answer or document.

A summary has only means, with which a later run cannot be compared in pairs. This table can be shared even if the
texts of a data set cannot: a row for each query of each run, with its type, the requested measures, tokens and
seconds. It is CSV on standard output. A score is empty if the measure does not apply or was not computed.

Examples:
  .venv/bin/python scripts/research/query_scores.py results > scores.csv
  .venv/bin/python scripts/research/query_scores.py results multihop_rag--gold --measures em,token_f1 > scores.csv
"""

import sys

from common import command_line, started

import harness.api as rag
from harness.core.errors import ConfigError

MEASURES = ("em", "token_f1", "AllHit@1", "Recall@1", "fact_AllHit@2000c", "fact_Recall@2000c")
_KEYS = ["run_id", "query_id", "repeat"]
_COSTS = ["query_type", "status", "input_tokens", "output_tokens", "latency_s"]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("results", help="a folder of results, or one run directory")
    parser.add_argument("runs", nargs="*", help="ids of runs there, or unique parts of them (default: all)")
    parser.add_argument("--measures", default=",".join(MEASURES), help="(default: %(default)s)")
    args = parser.parse_args()
    runs = rag.load(args.results, args.runs)
    asked, scores = args.measures.split(","), runs.scores
    if unknown := sorted(set(asked) - set(scores["measure"])):
        raise ConfigError(f"no run has a score of {', '.join(unknown)}", "name others with --measures")
    table = scores[scores["measure"].isin(asked)].pivot(index=_KEYS, columns="measure", values="value")
    costs = runs.records.set_index(_KEYS)[_COSTS]
    costs.join(table[asked]).round(6).sort_index().to_csv(sys.stdout)


if __name__ == "__main__":
    started(main)
