"""Token-level similarity of two texts: BERTScore (Zhang et al. 2020), as in the bert-score package.

Every token of both texts has a vector in its sentence. From the cosines of token pairs:

    precision = mean over the candidate's tokens of the highest cosine with a token of the reference
    recall    = mean over the reference's tokens of the highest cosine with a token of the candidate
    f1        = 2 * precision * recall / (precision + recall), 0 where either is not positive

| measures | candidate | reference |
|--|--|--|
| `bertscore_context_*` | every context | the gold evidence: its distinct facts |
| `bertscore_text_*` | the contexts except triplets | the gold evidence |
| `bertscore_answer_*` | the answer | the reference answer with the highest f1 |
| `bertscore_summary_*` | the answer | all its contexts; with `summaries: true` (RAG-Eval's table 3) |

The encoder is all-MiniLM-L6-v2 on onnxruntime, which needs no torch. `per_evaluator.bertscore.model` selects any
other model that the package knows. Scores of different encoders are not comparable: the digests of the weights are
stored with the scores, and runs scored by different encoders are not compared.

- Several texts are pooled: their tokens together are the candidate or the reference. A context that was retrieved
  twice counts twice. `text` leaves triplets out: they repeat entity names that the evidence contains too, which
  inflates the scores of a knowledge graph.
- A text longer than the encoder's window is split between tokens into as few windows as possible, of similar
  length and without overlap; all are pooled, and nothing is truncated. (The package truncates.)
- Special tokens such as [CLS] and [SEP] surround each window as in the package: they have no weight in the means,
  but other tokens may match them. All other tokens have equal weight (no idf).
- On torch, texts within the window get the scores of `bert_score.score` with `batch_size=1`, within 1e-6. (With
  padding the package replaces a token's highest cosine by 0 if it is negative, so a score depends on its batch.)
- No baseline rescaling: it changes no order, and a failure could no longer count as the worst value.

Not applicable: null queries (as in the thesis); a reference without evidence, or without an answer; a run without
a generator, or without contexts; `text` if every context is a triplet. Score 0, with the reason: an empty answer,
no context in a run that has some, a candidate without a token. Answer scores are also not applicable if the answer
abstains, or if the right answer is a bare yes or no, because "Yes" against "No" has an F1 of 0.80 for any
question.
"""

from harness.evaluators.bertscore.evaluator import SPEC, BertScoreParams

__all__ = ["SPEC", "BertScoreParams"]
