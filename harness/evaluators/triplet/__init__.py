"""Atomic facts, one by one: which does a context support, which does the answer share with the reference?

The facts of a text are its triplets (head, relation, tail), extracted by the judge. The scheme is LLM-eval's.

| measure `triplet_...` | reads | value | calls |
|--|--|--|--|
| `response_relevancy` | contexts; question | highest cosine of the question and one that the contexts answer | 1 |
| `faithfulness` | answer, contexts | share of the answer's triplets that a context supports | 1 + A |
| `faithfulness_cosine` | answer, contexts | mean of their highest cosines with a context | A |
| `factual_correctness` | answer, reference; question | share of the reference's triplets in the answer | 1 + R |
| `factual_correctness_cosine` | answer, reference | likewise, by cosine with the answer's triplets | A + R |

A and R are the extractions of answer and reference, a call for every 1,200 characters. Each text is extracted once
for all measures of a run, and paid once for all runs: R once for a data set.

- **The judge reads all contexts**, in rank order and numbered as the generator saw them; where they are longer
  than `context_characters`, window by window, each a call (`harness.evaluators.context_windows`). With every score
  stands the share of the contexts that was read.
- **Response relevancy**: the judge writes `questions` questions in one call, from the contexts alone. Of several
  windows it is the mean, weighted by length, so that a longer prompt has no more tries.
- **Faithfulness**: the judge replies with one number for each triplet: the passage that supports it, or 0. The
  explanation keeps the numbers. A triplet is supported if any window supports it.
- **Factual correctness** is recall, TP / (TP + FN). The judge sees the answer itself, not its triplets, since what
  an extraction left out would count as missing; and the question, since a "Yes" states what was asked.
- **The cosine twins** hold these verdicts against embeddings of "head relation tail". A context is embedded as it
  is: to extract its triplets would cost more than all measures together. One longer than the default embedder
  reads (256 tokens) is cut into windows of 1,000 characters, of which the nearest counts. For correctness a
  triplet is found at a cosine of `threshold`, ties included.
- More than 24 triplets are judged in several calls. An answer of over 6,000 characters is held against the
  reference part by part.

| | score |
|--|--|
| no generator, no contexts in the whole run, no reference answer | not applicable to what reads it |
| a null query (the corpus does not hold the answer) | only the two of faithfulness apply |
| a reference from which no triplet was extracted, such as a bare name | not applicable, whatever the answer |
| an answer equal to its reference, after normalisation | 1 in factual correctness, without a verdict |
| an empty answer | 0 in whatever reads the answer |
| an abstention | not applicable: it is its own status, which hallucination and false abstention count |
| an answer without triplets, such as "Yes" | not applicable: faithfulness; 0: `factual_correctness_cosine` |
| no context, in a run that has them | 0 in whatever reads contexts |
| a list of another length, a number that is no passage's | asked once more, then failed |
| an embedding with NaN or infinity | failed |
"""

from harness.evaluators.triplet.evaluator import SPEC
from harness.evaluators.triplet.params import TripletParams

__all__ = ["SPEC", "TripletParams"]
