// The blocks of the page: what they hold, each unpacked when it is first asked for.

/** Base64 to bytes; by the browser where it can, which is many times faster. */
function decoded(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

async function unpacked(id) {
  const stream = new Blob([decoded(document.getElementById(id).textContent.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** What a group's blocks hold, each unpacked when it is first asked for. */
class Data {
  constructor(name) {
    this.name = name;
    this.kept = new Map();
  }

  once(block, read) {
    if (!this.kept.has(block)) this.kept.set(block, unpacked(block).then(read));
    return this.kept.get(block);
  }

  json(part) {
    return this.once(`${this.name}-${part}`, parsed);
  }

  /** Of one measure: the distinct cells, and for run * queries + query which of them. */
  values(block) {
    return this.once(block, (bytes) => {
      const end = bytes.indexOf(10);
      const cells = parsed(bytes.subarray(0, end)).map(([status, value]) => ({ status, value }));
      const planes = bytes.subarray(end + 1);
      const width = cells.length > 65536 ? (cells.length > 16777216 ? 4 : 3) : cells.length > 256 ? 2 : 1;
      const codes = new Uint32Array(planes.length / width);
      for (let plane = 0; plane < width; plane += 1) {
        for (let at = 0; at < codes.length; at += 1) {
          codes[at] += planes[plane * codes.length + at] * 2 ** (8 * plane);
        }
      }
      return { cells, codes };
    });
  }

  /** Texts by number. */
  async texts(core, numbers) {
    const found = new Map();
    await Promise.all([...new Set(numbers)].map(async (wanted) => {
      let low = 0;
      let high = core.texts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (core.texts[middle] <= wanted) low = middle;
        else high = middle - 1;
      }
      found.set(wanted, (await this.json(`t${low}`))[wanted - core.texts[low]]);
    }));
    return found;
  }
}
