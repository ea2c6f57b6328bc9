"""The causes, in pipeline order, with a suggestion for each."""

from harness.protocols import ScoreLabel

NOT_IN_CORPUS = ScoreLabel(
    "not-in-corpus",
    "evidence not in the corpus",
    "No system can retrieve it: use more documents (dataset.corpus=full), or leave these queries out.",
)
CUT = ScoreLabel(
    "cut-by-chunking",
    "fact cut by chunking",
    "No stored passage contains the whole fact: use longer passages or more overlap (index.chunk_size, "
    "index.chunk_overlap).",
)
NOT_FOUND = ScoreLabel(
    "not-found",
    "not in the recorded ranking",
    "It is not in the recorded ranking: search by keywords and embeddings "
    "(answer.search=hybrid), with titles and dates (index.headings=true), or with another embedder.",
)
RANKED_LOW = ScoreLabel(
    "ranked-too-low",
    "ranked too low",
    "It was retrieved, but ranked below the passages in the prompt: use more passages (answer.top_k) or a "
    "reranker; each query shows its rank.",
)
ONLY_PART = ScoreLabel(
    "only-part",
    "only part of it in the context",
    "Each query shows the rank of the rest: use more passages, or a second retrieval step for the missing part.",
)
ANSWERED_WRONG = ScoreLabel(
    "answered-wrong",
    "in the context, answered wrong",
    "Retrieval succeeded: try another generator, or fewer other passages.",
)
WORDED_OTHERWISE = ScoreLabel(
    "worded-otherwise",
    "perhaps right, in other words",
    "Answer and reference answer differ in few words, such as a unit: read these. If they are right, add the "
    "wording to the answers of the question.",
    note="count as wrong and may be right in other words: read them, and add such words to the question's answers",
)
REFUSED = ScoreLabel(
    "refused",
    "in the context, abstained",
    "Retrieval succeeded: try another generator, or fewer other passages.",
)
ANSWERED_NOTHING = ScoreLabel(
    "answered-nothing",
    "answered although unanswerable",
    "The right answer is an abstention: try a generator that abstains more often, or fewer passages.",
)
FAILED = ScoreLabel(
    "failed",
    "failed or timed out",
    "No answer was recorded: see the errors in the notes, then raise the limits or run the same command again.",
)
NOT_KNOWN = ScoreLabel(
    "not-known",
    "not known",
    "The records do not show the cause: paraphrases, no contexts, or no evidence in the data set; read some "
    "of these queries.",
)
OF_SEARCH = (NOT_IN_CORPUS, CUT, NOT_FOUND, RANKED_LOW, ONLY_PART)
OF_ANSWERS = (*OF_SEARCH, WORDED_OTHERWISE, ANSWERED_WRONG, REFUSED, ANSWERED_NOTHING, FAILED, NOT_KNOWN)
OF_EVIDENCE = (*OF_SEARCH, FAILED, NOT_KNOWN)
