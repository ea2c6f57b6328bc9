"""The causes, in the order in which a search and an answer can go wrong, and what to try against each."""

from harness.protocols import ScoreLabel

NOT_IN_CORPUS = ScoreLabel(
    "not-in-corpus",
    "evidence not in the corpus",
    "No system can find it: search more documents (dataset.corpus=full), or leave these queries out.",
)
CUT = ScoreLabel(
    "cut-by-chunking",
    "fact cut by chunking",
    "No stored passage holds the fact whole: cut longer passages, or let them overlap more (index.chunk_size, "
    "index.chunk_overlap).",
)
NOT_FOUND = ScoreLabel(
    "not-found",
    "not found in what was recorded",
    "It is not in the ranking, as far down as one was kept: search by words and by meaning "
    "(answer.search=hybrid), with titles and dates (index.headings=true), or with another embedder.",
)
RANKED_LOW = ScoreLabel(
    "ranked-too-low",
    "ranked too low",
    "The search found it behind what was handed over: hand over more passages (answer.top_k) or order them anew; "
    "each query says at which rank it stands.",
)
ONLY_PART = ScoreLabel(
    "only-part",
    "only part of it in the context",
    "Each query says where the rest stands: hand over more passages, or search again for what is missing.",
)
ANSWERED_WRONG = ScoreLabel(
    "answered-wrong",
    "in the context, answered wrong",
    "The search did its part: try another generator, or fewer passages beside the evidence.",
)
REFUSED = ScoreLabel(
    "refused",
    "in the context, refused",
    "The search did its part: try another generator, or fewer passages beside the evidence.",
)
ANSWERED_NOTHING = ScoreLabel(
    "answered-nothing",
    "answered though nothing is there",
    "The right answer is that there is none: try a generator that refuses sooner, or fewer passages.",
)
FAILED = ScoreLabel(
    "failed",
    "failed or timed out",
    "There is no answer: see the errors in the notes, then raise the limits or run the same command again.",
)
NOT_KNOWN = ScoreLabel(
    "not-known",
    "not known",
    "What was recorded does not tell: texts that say it in other words, no contexts, or no evidence in the data "
    "set; read some of these queries.",
)
OF_SEARCH = (NOT_IN_CORPUS, CUT, NOT_FOUND, RANKED_LOW, ONLY_PART)
OF_ANSWERS = (*OF_SEARCH, ANSWERED_WRONG, REFUSED, ANSWERED_NOTHING, FAILED, NOT_KNOWN)
OF_EVIDENCE = (*OF_SEARCH, FAILED, NOT_KNOWN)
