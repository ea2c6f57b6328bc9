"""A corpus of simple statements for the libraries that build graphs, and a question about it."""

import re

from harness.core.records import Document, Query

NAME = r"[A-Z]\w+(?: [A-Z]\w+)*"
STATEMENT = re.compile(rf"({NAME}) (\w+) ({NAME})\.")
TEXTS = {
    "array": "Tidewright Power built Gull Sound. Ingrid Solvane leads Tidewright Power.",
    "grid": "Gull Sound feeds Coldharrow Grid. Marten Oake runs Coldharrow Grid. Marten Oake met Ingrid Solvane.",
    "again": "Tidewright Power built Gull Sound. Tidewright Power owns Brennick Yard.",
    "theatre": "Bronze Lamp staged Salt Opera. Wendeline Marsh wrote Salt Opera.",
    "lonely": "Nothing here is a statement of the kind that can be found.",
}
CORPUS = [
    Document(doc_id=name, text=text, title=f"On {name}", metadata={"source": "The Harbour Post"})
    for name, text in TEXTS.items()
]
QUERY = Query(query_id="q", text="Who leads Tidewright Power, which built Gull Sound?")
