// The words beside "evil" (a text of the corpus that turns the direction of what follows) whose letters do not stand
// from left to right, or not behind those before them on their line.
(within) => {
  const found = [];
  const range = document.createRange();
  const block = (node) => {
    let at = node.parentElement;
    while (getComputedStyle(at).display === "inline") at = at.parentElement;
    return at;
  };
  const before = new Map(); // block -> its last letter
  const texts = document.createTreeWalker(document.querySelector(within), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest("svg, option, textarea")) continue;
    const around = block(node);
    let start = 0;
    for (const words of node.data.split("evil")) {
      for (const letter of words.matchAll(/[A-Za-z]/g)) {
        const at = start + letter.index;
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const box = range.getBoundingClientRect();
        if (!box.width) continue;
        const last = before.get(around);
        if (last && Math.abs(last.bottom - box.bottom) < 3 && box.left < last.left) {
          found.push(`${words.slice(0, 60)} | ${around.tagName}.${around.className}#${around.id} ${around.textContent.slice(0, 80)}`);
          break;
        }
        before.set(around, box);
      }
      start += words.length + "evil".length;
    }
  }
  return found;
}
