"""How near is one text to another as a whole? Cosines of embeddings: no judge, no verdict.

| measure `cosine_...` | value |
|--|--|
| `answer_reference` | of the answer and the reference answer, the nearest of several |
| `reference_found` | mean over the reference's sentences of the highest with a sentence of the answer: a recall |
| `answer_backed` | mean over the answer's sentences of the highest with one of the reference: a precision |
| `answer_question` | of the answer and the question |
| `answer_contexts` | mean over the answer's sentences of the highest with a window of the contexts |
| `contexts_question` | mean over the contexts of the highest of a window with the question |

The embedder is `models.judge_embedder`, all-MiniLM-L6-v2 unless told otherwise; scores of different embedders
are not comparable. Of several reference answers the best counts. A text longer than it reads (256 tokens) is
cut into windows of 1,000 characters; as a whole it is the mean of their vectors, each by its length. Nothing is
truncated.

A cosine is no share of anything: two texts on one subject lie near each other, whether or not they say the
same, and "A beat B" lies near "B beat A". What the measures are worth beside people's labels: docs/validity.md.

Not applicable: what the run does not have (a generator, contexts), a data set without reference answers, a null
query where the reference or the contexts are read, a bare yes or no as the right answer, an answer that
abstains. An empty answer, and no context in a run that has some, are 0.
"""

from harness.evaluators.cosine.evaluator import SPEC

__all__ = ["SPEC"]
