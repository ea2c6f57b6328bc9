"""Similarity of whole texts and sentences: cosines of embeddings, without a judge.

| measure `cosine_...` | value |
|--|--|
| `answer_reference` | cosine of the answer and the reference answer, the nearest of several |
| `reference_found` | mean over the reference's sentences of the highest cosine with an answer sentence: a recall |
| `answer_backed` | mean over the answer's sentences of the highest cosine with a reference sentence: a precision |
| `answer_question` | cosine of the answer and the question |
| `answer_contexts` | mean over the answer's sentences of the highest cosine with a window of the contexts |
| `contexts_question` | mean over the contexts of the highest cosine of a window with the question |

The embedder is `models.judge_embedder`, all-MiniLM-L6-v2 by default; scores of different embedders are not
comparable. Of several reference answers the best counts. A text longer than the default embedder's window (256
tokens) is split into windows of 1,000 characters; its vector is their mean, weighted by length. Nothing is
truncated.

A cosine is not a share of anything: two texts about one subject are similar, whether or not they say the same, and
"A beat B" is similar to "B beat A". docs/validity.md compares these metrics with human labels.

Not applicable: a run without a generator, or without contexts; a data set without reference answers; a null query
for metrics that read the reference or the contexts; a bare yes or no as the right answer; an answer that abstains.
An empty answer, and no context in a run that has some, score 0.
"""

from harness.evaluators.cosine.evaluator import SPEC

__all__ = ["SPEC"]
