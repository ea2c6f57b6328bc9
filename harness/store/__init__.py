"""Reads and writes run directories. No other package writes to them: an extension writes its own file through
`RunDir.extension_file`; runs are copied and changed for an export by `run_rewriting`, received ones added by
`run_removal`.

Every JSON file, line and stored call has a checksum, its own or that in the JSON file that closes it. Anything
without a matching checksum is damaged.

```
results/<dataset>--<system>--<12 hex>/
  manifest.json   sample.jsonl   estimate.json   index.json   calls.sqlite   records.jsonl   resources.csv
  records.damaged.jsonl   worker.log   server.log   scores/<evaluator>.jsonl   scores/<evaluator>.json
  reach.json   race.json   dialects.json   spread.json   annotations/<annotator>.jsonl   tags.json
  load.json   robustness.json   done.json   .lock
results/indexes/<12 hex>/     an index with its index.json; shared by all runs that need it
results/corpora/<12 hex>.jsonl    the documents of an index
results/judge/calls.sqlite    all judgements of all evaluations
results/asked/calls.sqlite    questions asked to runs with `ask` and `try`
results/votes.jsonl           which of two runs answered a question better, by people who used `try`
results/dialects.json         parameters that model servers reject or expect under another name
results/.runs/                what `rag-harness runs` remembers, and has not finished removing or receiving
```
"""

from harness.store.call_journal import CallKey, Journal, StoredCall
from harness.store.compressed_memory import CompressedByKey
from harness.store.index_dir import IndexDir, indexes_of
from harness.store.manifest import SCHEMA_VERSION, Done, Manifest, SampleRow, rows_by_id, sample_rows
from harness.store.model_dialects import Dialect, Dialects
from harness.store.record_lines import RecordKey, Records
from harness.store.run_dir import RunDir
from harness.store.run_files import RunFile
from harness.store.run_lookup import find_runs, name_for, runs_called

__all__ = [
    "SCHEMA_VERSION",
    "CallKey",
    "CompressedByKey",
    "Dialect",
    "Dialects",
    "Done",
    "IndexDir",
    "Journal",
    "Manifest",
    "RecordKey",
    "Records",
    "RunDir",
    "RunFile",
    "SampleRow",
    "StoredCall",
    "find_runs",
    "indexes_of",
    "name_for",
    "rows_by_id",
    "runs_called",
    "sample_rows",
]
