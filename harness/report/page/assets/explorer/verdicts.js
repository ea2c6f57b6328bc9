// What became of one run's answer to one query: a letter, a colour and words.

/** Letter, colour and words of one run's result for one query. */
function verdict(cell, status, measure, range) {
  const told = (letter, tone, words) => ({ letter, tone, words });
  const scored = (letter, tone, words) => told(letter, tone, words + lost(status));
  if (cell && cell.value !== null) {
    if (cell.status === "i" && status & STATUS.timeout) return told("T", "bad", "timed out");
    if (cell.status === "i") return told("F", "bad", "failed");
    if (measure.binary && cell.value === (measure.up === false ? 0 : 1)) return scored("R", "good", "right");
    if (measure.binary && cell.value !== 0 && cell.value !== 1) {
      return scored(number(cell.value), "mid", `right in ${number(100 * rightness(cell, measure))} % of repeats`);
    }
    if (measure.binary && status & STATUS.abstained) return scored("N", "warn", "gave no answer, which is wrong");
    if (measure.binary) return scored("W", "bad", "wrong");
    return scored(number(cell.value), tone(cell.value, measure, range), `${measure.title} ${number(cell.value)}`);
  }
  if (status & STATUS.timeout) return told("T", "bad", "timed out");
  if (status & STATUS.failed) return told("F", "bad", "failed");
  if (status & STATUS.missing) return told("–", "none", "no record yet");
  if (cell && cell.status === "f") return told("?", "warn", "could not be scored");
  if (cell && cell.status === "n") return told("n/a", "none", "does not apply");
  if (status & STATUS.abstained) return told("N", "warn", "gave no answer, not scored");
  return told("–", "none", "not scored");
}

/** What became of repeats that have no answer, behind what the others got. */
function lost(status) {
  if (status & STATUS.timeout) return "; at least one repeat timed out";
  return status & STATUS.failed ? "; at least one repeat failed" : "";
}

const rightness = (cell, measure) => (measure.up === false ? 1 - cell.value : cell.value);

/** Thirds of what the measure's values span in this group. */
function tone(value, measure, [low, high]) {
  if (measure.up === null || high === low) return "mid";
  const share = measure.up ? (value - low) / (high - low) : (high - value) / (high - low);
  return share >= 2 / 3 ? "good" : share <= 1 / 3 ? "bad" : "mid";
}

function chip(found, label) {
  const words = label ? `${label}: ${found.words}` : found.words;
  return make("span", { className: `ex-chip ex-${found.tone}`, title: words, role: "img", "aria-label": words }, found.letter);
}
