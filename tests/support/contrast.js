// What on the page has less contrast with its ground than WCAG 2.2 asks for (1.4.3: 4.5 for text; 1.4.11: 3 for marks).
() => {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (css) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = css;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const chain = (node) => (node.parentElement ? [...chain(node.parentElement), node] : [node]);
  const ground = (node) => chain(node).reduce((below, one) => over(rgba(getComputedStyle(one).backgroundColor), below), rgba('white'));
  const opacity = (node) => chain(node).reduce((sum, one) => sum * getComputedStyle(one).opacity, 1);
  const seen = new Map();
  const hold = (node, colour, least) => {
    const below = ground(node.matches('i, .ex-bar-of') ? node.parentElement : node);
    const top = rgba(colour);
    top[3] *= opacity(node);
    const got = ratio(over(top, below), below);
    const what = `${node.tagName.toLowerCase()}.${node.getAttribute('class') || ''} ${colour} on ${below.slice(0, 3).map(Math.round)}`;
    seen.set(what, { what, got, least, text: node.textContent.trim().slice(0, 40) });
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    const spoken = texts.currentNode.data.trim() && node.checkVisibility() && !node.matches('script, style, title, desc, noscript');
    if (spoken) hold(node, getComputedStyle(node)[node.closest('svg') ? 'fill' : 'color'], 4.5);
  }
  for (const node of document.querySelectorAll('figure svg use')) hold(node, getComputedStyle(node)[node.style.fill ? 'fill' : 'stroke'], 3);
  for (const node of document.querySelectorAll('.track .whisker, .track .dot, .slots .may, .ex-bar-of')) {
    if (node.checkVisibility()) hold(node, getComputedStyle(node).backgroundColor, 3);
  }
  const found = [...seen.values()];
  return { looked: found.length, weak: found.filter(({ got, least }) => got < least) };
}
