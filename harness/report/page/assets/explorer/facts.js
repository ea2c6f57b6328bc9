// Gold facts and offered evidence in a text.

/** [start, end] of every fact that stands in the text, white space aside, merged and in order. */
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
    const at = wanted ? squeezed.indexOf(wanted) : -1;
    return at < 0 ? null : [origin[at], origin[at + wanted.length - 1] + 1];
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
