"""How near is one text to another, token by token? BERTScore (Zhang et al. 2020), as in the bert-score package.

Every token of both texts has a vector in its sentence. With the cosine of two of them,

    precision = mean over the candidate's tokens of the highest cosine with a token of the reference
    recall    = mean over the reference's tokens of the highest cosine with a token of the candidate
    f1        = 2 * precision * recall / (precision + recall), 0 where either is not positive

| measures | candidate | reference |
|--|--|--|
| `bertscore_context_*` | every context | the gold evidence: its distinct facts |
| `bertscore_text_*` | the contexts that are no triplets | likewise |
| `bertscore_answer_*` | the answer | the reference answer that gives the highest f1 |

The encoder is all-MiniLM-L6-v2 on onnxruntime, which needs no torch; any that the package knows is a parameter
(`per_evaluator.bertscore.model`). What each of them gives is on a scale of its own: the digests of its weights
stand beside the scores, and runs that were scored by different encoders are not compared.

Triplets repeat the names of entities, which the evidence names too: that inflates the scores of a knowledge graph,
so `text` leaves them out.

- Several texts are pooled: their tokens together are the candidate or the reference. A context that was
  retrieved twice counts twice.
- A text longer than the encoder's window is cut between tokens into as few windows as hold it, of nearly the same
  length and without overlap. Each is embedded by itself, all are pooled; nothing is truncated. (The package cuts
  the text off at the window.)
- Marks such as [CLS] and [SEP] stand around each window as the package sets them: they weigh nothing in
  the means, but may be matched. Tokens weigh the same otherwise (no idf).
- On torch, texts within the window score what `bert_score.score` gives, but for its padding: where texts of
  unequal length share a batch, the package takes 0 for a token's highest cosine if that is negative, so that a
  score depends on the texts beside it (by 3e-3 for real short answers). With `batch_size=1` nothing is padded, and
  both agree within 1e-6.
- No baseline: rescaling is a linear map, which changes no order, and under it a failure could no longer count as
  the worst value.

Not applicable: null queries (as in the thesis); a reference without evidence, or without an answer; what the run
does not have (a generator, contexts); `text` where every context is a triplet. 0, with the reason: an empty
answer, no context in a run that has some, a candidate in which the encoder finds no token.

Of answers, also: where the right answer is a bare yes or no, for "Yes" against "No" has an F1 of 0.80 whatever was
asked; and an answer that abstains, which is a status of its own as in every graded score. How many answers are
left stands beside the means. (Of 44 different recorded answers that name something, the 31 that are the reference
have a mean F1 of 1.00, the 13 others of 0.28, at most 0.80; of yes and no it is 0.82 and 0.79.)
"""

from harness.evaluators.bertscore.evaluator import SPEC, BertScoreParams

__all__ = ["SPEC", "BertScoreParams"]
