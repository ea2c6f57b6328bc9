"""Five grades of an answer by a judge, and a confidence computed from them (RAG-Eval).

The judge reads query, contexts and answer, but no reference, and gives five whole numbers from 1 to 5:

| measure `rag_eval_...` | question for the grade | weight |
|--|--|--|
| `query_relevance` | does the answer give what the query asks for | .25 |
| `factual_accuracy` | do the contexts state what the answer states | .25 |
| `coverage` | does the answer contain everything that the contexts say about the query | .25 |
| `coherence` | do its parts fit together | .125 |
| `fluency` | is it well written | .125 |

    value = grade / 5
    confidence = sum of weight * value, to nine decimals

| measure | value |
|--|--|
| `rag_eval_confidence` | the confidence; its explanation names the grades and the band |
| `rag_eval_trustworthy` | 1 from .75 on |
| `rag_eval_misaligned` | 1 below .50; lower is better |

The band between them is "grounded but partial". Rounding to nine decimals makes .75 trustworthy even if a sum of
floats is smaller by its last bit.

- `calls: one` (the default) requests the five grades in one call, with a criterion, evaluation steps and a
  description of each grade (`harness.evaluators.rag_eval.prompts`). `parallel` requests each in its own call; so
  does `published`, in the form that the paper prints. The wording is ours.
- A grade is a whole number that the reply states unambiguously (`harness.evaluators.rag_eval.grades`). If one is
  missing, the judge is asked once more with a different prompt. A grade that is still missing fails, and so do the
  confidence and its bands. The other grades stand.
- The judge reads all contexts, numbered as in the generator's prompt, window by window if they are longer than
  `context_characters`: factual accuracy is then the highest grade, the others are the mean, weighted by length. A
  long prompt thus has more chances at factual accuracy, and a fact that is split between windows is not supported.
- Very long queries and answers are truncated; the explanation says so.

Not applicable: a run without generator or contexts, an answer that abstains. An empty answer, and one without
retrieved contexts in a run that has contexts, gets 0 in every metric. Null queries are graded like others. A judge
that grades every answer with 5 is not detected here.
"""

from harness.evaluators.rag_eval.evaluator import SPEC, RagEvalParams

__all__ = ["SPEC", "RagEvalParams"]
