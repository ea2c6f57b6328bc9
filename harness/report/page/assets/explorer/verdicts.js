// What became of one run's answer to one query: a letter, a colour and words.

/** Letter, colour and words of one run's result for one query. */
function verdict(cell, status, measure, range) {
  const told = (letter, tone, words) => ({ letter, tone, words });
  if (cell && cell.value !== null) {
    if (cell.status === "i" && status & STATUS.timeout) return told("T", "bad", "timed out");
    if (cell.status === "i") return told("F", "bad", "failed");
    if (measure.binary && cell.value === (measure.up === false ? 0 : 1)) return told("R", "good", "right");
    if (measure.binary && cell.value !== 0 && cell.value !== 1) {
      return told(number(cell.value), "mid", `right in ${number(100 * rightness(cell, measure))} % of repeats`);
    }
    if (measure.binary && status & STATUS.abstained) return told("N", "warn", "gave no answer, which is wrong");
    if (measure.binary) return told("W", "bad", "wrong");
    return told(number(cell.value), tone(cell.value, measure, range), `${measure.name} ${number(cell.value)}`);
  }
  if (status & STATUS.timeout) return told("T", "bad", "timed out");
  if (status & STATUS.failed) return told("F", "bad", "failed");
  if (status & STATUS.missing) return told("–", "none", "no record yet");
  if (cell && cell.status === "f") return told("?", "warn", "could not be scored");
  if (cell && cell.status === "n") return told("n/a", "none", "does not apply");
  if (status & STATUS.abstained) return told("N", "warn", "gave no answer, not scored");
  return told("–", "none", "not scored");
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
