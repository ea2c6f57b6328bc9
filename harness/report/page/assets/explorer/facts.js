// Gold facts and offered evidence in a text.

/** Letters of scripts that neither lack spaces nor write particles onto a word, and digits. */
const OF_A_WORD = new RegExp(
  "\\p{Nd}|(?![" + ["Han", "Hira", "Kana", "Thai", "Lao", "Khmer", "Mymr", "Hang", "Arab", "Hebr"]
    .map((script) => `\\p{sc=${script}}`).join("") + "])[\\p{L}\\p{M}]", "u");

/** Whether a word or number of the text goes on at this place. */
function goesOn(text, at) {
  const [before, behind] = [text.slice(Math.max(at - 2, 0), at), text.slice(at, at + 2)];
  if (OF_A_WORD.test(before.slice(-1)) && OF_A_WORD.test(behind[0] ?? "")) return true;
  return (/\d[.,]$/.test(before) && /^\d/.test(behind)) || (/\d$/.test(before) && /^[.,]\d/.test(behind));
}

/** [start, end] of every fact that stands in the text, white space aside and not inside a word or number, merged
 * and in order. */
function places(text, facts) {
  let squeezed = "";
  const origin = [];
  for (let at = 0; at < text.length; at += 1) {
    if (!SPACE.test(text[at])) {
      squeezed += text[at];
      origin.push(at);
    }
  }
  const found = facts.map((fact) => {
    const wanted = [...fact].filter((letter) => !SPACE.test(letter)).join("");
    for (let at = wanted ? squeezed.indexOf(wanted) : -1; at >= 0; at = squeezed.indexOf(wanted, at + 1)) {
      const [start, end] = [origin[at], origin[at + wanted.length - 1] + 1];
      if (!goesOn(text, start) && !goesOn(text, end)) return [start, end];
    }
    return null;
  });
  const merged = [];
  for (const [start, end] of found.filter(Boolean).sort((one, other) => one[0] - other[0])) {
    const last = merged[merged.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return { found, merged };
}

/** The text with its gold facts marked, and underlined what the system offers as proof; both may overlap. */
function highlighted(text, gold, proof) {
  const cuts = [...new Set([0, text.length, ...gold.flat(), ...proof.flat()])].sort((one, other) => one - other);
  const within = (ranges, at) => ranges.some(([start, end]) => start <= at && at < end);
  return cuts.slice(0, -1).map((start, at) => {
    const part = text.slice(start, cuts[at + 1]);
    const marked = within(gold, start) ? make("mark", null, part) : part;
    return within(proof, start) ? make("u", { className: "ex-proof", title: "offered as evidence" }, marked) : marked;
  });
}
