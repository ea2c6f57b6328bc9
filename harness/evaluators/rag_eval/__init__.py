"""How far can an answer be trusted? Five grades by a judge, and one confidence out of them (RAG-Eval).

The judge reads query, contexts and answer, never a reference, and gives five whole numbers from 1 to 5:

| measure `rag_eval_...` | the grade says | weight |
|--|--|--|
| `query_relevance` | does the answer give what the query asks for | .25 |
| `factual_accuracy` | do the contexts state what the answer states | .25 |
| `coverage` | does the answer hold all that the contexts say on the query | .25 |
| `coherence` | do its parts fit together | .125 |
| `fluency` | is it well written | .125 |

    value = grade / 5        confidence = sum of weight * value, to nine decimals

| measure | value |
|--|--|
| `rag_eval_confidence` | the confidence; its explanation names the grades and the band |
| `rag_eval_trustworthy` | 1 from .75 on |
| `rag_eval_misaligned` | 1 below .50; lower is better |

What is neither is "grounded but partial". Nine decimals are what makes .75 trustworthy where a sum of floats falls
short of it by its last bit.

- The judge reads a criterion, the steps to its grade and what each of the five grades says, for every metric
  (`harness.evaluators.rag_eval.criteria`), as RAG-Eval's does. The words are ours.
- `calls: one` (the default) asks for the five grades in one call; `parallel` asks for each by itself, and the
  judge reads the contexts five times.
- A grade is a whole number that the reply states beyond doubt (`harness.evaluators.rag_eval.grades`). Where one
  is missing, the judge is asked once more in other words; what it then still leaves out has failed, and with it
  the confidence and its bands. The other grades stand.
- The judge reads all contexts, in rank order and numbered as the generator saw them. Where they are longer than
  `context_characters` it grades the answer by each window of them: factual accuracy is the highest of the grades,
  the others are their mean, weighted by length (`harness.evaluators.rag_eval.confidence`). The grades of the
  windows stand in the explanation, and with every score the share of the contexts that was read.
- A query and an answer are cut at lengths that hardly any has; the explanation says where that happened.

Not applicable: a run without generator or contexts, an answer that abstains. An empty answer, and one for
which nothing was retrieved in a run that has contexts, is worth the least in every measure: 0, below any grade.
Null queries are graded like others, since no reference is read. A judge that gives every answer a 5 is not found
out here.
"""

from harness.evaluators.rag_eval.evaluator import SPEC, RagEvalParams

__all__ = ["SPEC", "RagEvalParams"]
