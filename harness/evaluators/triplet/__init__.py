"""Verifies atomic facts one by one: against the contexts, and against the reference.

The facts of a text are its triplets (head, relation, tail), extracted by the judge. The scheme is LLM-eval's.

| measure `triplet_...` | reads | value | calls |
|--|--|--|--|
| `response_relevancy` | contexts; question | highest cosine with a question that the contexts answer | 1 |
| `faithfulness` | answer, contexts | share of the answer's triplets that a context supports | 1 + A |
| `faithfulness_cosine` | answer, contexts | mean of their highest cosines with a context | A |
| `factual_correctness` | answer, reference; question | share of the reference's triplets in the answer | 1 + R |
| `factual_correctness_cosine` | answer, reference | the same, by cosine with the answer's triplets | A + R |

A and R are the extractions of answer and reference, one call per 1,200 characters. Each text is extracted
once for all metrics of a run, and paid once for all runs: R once per data set.

LLM-eval (Dong 2025) as published, if `metrics` names it; the cosine variants share the first of two calls:

| measure `triplet_..._published` | first call | value |
|--|--|--|
| `faithfulness` | answer and contexts to triplets of the answer and passages | share that a second call supports |
| `faithfulness_cosine` | the same | mean of the triplets' highest cosines with a passage |
| `factual_correctness` | answer and reference to triplets of both | TP / (TP + FN) as a second call counts |
| `factual_correctness_cosine` | the same | TP: the answer's near a reference's; FN: the reference's near none |

They see neither the question nor, in the second call, the texts. A passage is what the judge wrote; the
explanation says how many are literal. A cosine is near if it is greater than `threshold`. At most 24 triplets of
a text count. Response relevancy is as published where the contexts fit `context_characters`.

- The judge reads all contexts as the generator saw them, window by window if they are longer than
  `context_characters` (`harness.evaluators.context_windows`).
- Response relevancy: the judge writes `questions` questions in one call, from the contexts only. Several windows
  are averaged, weighted by length, so a longer prompt has no more chances.
- Faithfulness: the judge replies with one number for each triplet: the passage that supports it, or 0. Support by
  any window counts.
- Factual correctness is recall, TP / (TP + FN). The judge sees the answer, not its triplets, because facts that
  the extraction missed would count as missing; and the question, which a "Yes" refers to.
- The cosine variants embed "head relation tail", and contexts as text, in windows of 1,000 characters of which the
  nearest counts. For correctness a triplet is found at a cosine of `threshold`, ties included.
- More than 24 triplets are judged in several calls, an answer of over 6,000 characters part by part.

| | score |
|--|--|
| no generator, no contexts in the whole run, no reference answer | metrics that read it are not applicable |
| a null query (the corpus does not contain the answer) | only the two of faithfulness apply |
| a reference from which no triplet was extracted, such as a bare name | not applicable, whatever the answer |
| an answer equal to its reference, after normalisation | 1 in factual correctness (ours), without a verdict |
| an empty answer | 0 in metrics that read the answer |
| an abstention | not applicable: hallucination rate and false abstention rate count it |
| an answer without triplets, such as "Yes" | not applicable: faithfulness; 0: `factual_correctness_cosine` |
| no context, in a run that has them | 0 in metrics that read contexts |
| as published: no passage was extracted, no triplet of the answer (correctness) | 0, without a second call |
| as published: no triplet of the answer (faithfulness) or of the reference (correctness) | not applicable |
| as published: no triplet of such a text of four words or more; TP + FN is not the reference's triplets | failed |
| a list of the wrong length, an invalid passage number | retried once, then failed |
| an embedding with NaN or infinity | failed |
"""

from harness.evaluators.triplet.evaluator import SPEC
from harness.evaluators.triplet.verdicts import TripletParams

__all__ = ["SPEC", "TripletParams"]
