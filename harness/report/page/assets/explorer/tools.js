// What every part of the explorer uses. Texts of data sets and models reach the page through text nodes only.

const PAGE = 100; // rows that are listed at once
const FIRST = 20; // of them in the first frame: as many as a screen shows; the others come right after it
const STATUS = { answered: 1, abstained: 2, failed: 4, timeout: 8, missing: 16 };
// What Python's str.split() takes for white space: facts are found as the retrieval measures find them.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const RELATIONS = {
  all: "every query",
  rightWrong: "A right and B wrong",
  wrongRight: "A wrong and B right",
  bothRight: "both right",
  bothWrong: "both wrong",
  anyWrong: "any system wrong",
  better: "A better than B",
  worse: "B better than A",
  differ: "they differ",
};
const STATES = {
  "": "any",
  everyone: "every system answered",
  abstained: "a system gave no answer",
  failed: "a system failed",
  timeout: "a system timed out",
  missing: "a system has no record",
};

/** Shows `hash` in the address, where the browser lets a file do that. */
function address(hash) {
  try {
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    // The link in the bar has it all the same.
  }
}

const count = (n) => n.toLocaleString("en-US");
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const number = (value) => (Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3))));
const seconds = (value) => (value === null || value === undefined ? "–" : `${number(value)} s`);

/** An element; strings among the children become text, whatever is in them. */
function make(tag, properties, ...children) {
  const { data, ...rest } = properties || {};
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(rest)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The text with every isolation of direction that it begins ended, and none that it has not begun: those are marks
 * within the text for a browser, so that the element around it does not hold them. */
function contained(text) {
  let open = 0;
  const balanced = String(text).replace(/[\u2029\u2066-\u2069]/g, (mark) => {
    if (mark === "\u2029") return " ";
    if (mark === "\u2069" && open === 0) return "";
    open += mark === "\u2069" ? -1 : 1;
    return mark;
  });
  return balanced + "\u2069".repeat(open);
}

const INLINE = new Set(["cite", "code", "i", "span", "strong"]);

/** Text from a data set or a model: set apart, so that its direction marks end with it. */
const foreign = (tag, text, className) => make(tag, { className: `ex-text ${className || ""}`, dir: "auto" }, INLINE.has(tag) ? contained(text) : text);

function option(value, text) {
  return make("option", { value: String(value) }, text);
}

function fold(title, open, ...children) {
  return make("details", { open }, make("summary", null, ...[].concat(title)), ...children);
}
