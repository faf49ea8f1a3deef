// The nodes of a run as a tree of rows, from the columns in which the server has them.

/**
 * @typedef {{
 *   seq: number, began: number, keys: string[], names: string[], name: number[], parent: number[], start: number[],
 *   took: number[], status: string, tokens: Record<string, number[]>, errors: Record<string, string>, at?: number[],
 * }} Columns at: the indices of the nodes in them, where they hold only what has changed
 */

/** Return columns with what has changed since; the given ones stay as they are. @param {Columns} known @param {Columns} found */
export function merged(known, found) {
  const { at } = found;
  if (!at) return found;
  const status = [...known.status], tokens = { ...known.tokens }, errors = { ...known.errors };
  /** @type {Columns} */
  const all = { ...found, at: undefined, tokens, errors, keys: [...known.keys], name: [...known.name], parent: [...known.parent],
    start: [...known.start], took: [...known.took] };
  at.forEach((node, place) => {
    for (const column of /** @type {const} */ (["keys", "name", "parent", "start", "took"])) all[column][node] = found[column][place];
    status[node] = found.status[place];
    delete tokens[node];
    delete errors[node];
  });
  Object.assign(tokens, found.tokens);
  Object.assign(errors, found.errors);
  return { ...all, status: status.join("") };
}

/** A tree of nodes; a node is its index, and 0 the root. */
export class Outline {
  /** @param {Columns} columns */
  constructor(columns) {
    this.columns = columns;
    this.size = columns.keys.length;
    this.depth = new Uint16Array(this.size);
    this.firstChild = new Int32Array(this.size).fill(-1);
    this.next = new Int32Array(this.size).fill(-1);
    const last = new Int32Array(this.size).fill(-1);
    this.total = 0.001;
    for (let at = 0; at < this.size; at++) {
      const up = columns.parent[at];
      this.total = Math.max(this.total, columns.start[at] + columns.took[at]);
      if (up < 0) continue;
      this.depth[at] = this.depth[up] + 1;
      if (last[up] < 0) this.firstChild[up] = at;
      else this.next[last[up]] = at;
      last[up] = at;
    }
  }

  /** @param {number} at */
  name(at) {
    return this.columns.names[this.columns.name[at]];
  }

  /** Return whether a node was not run here, but in the run of which this one is a fork. @param {number} at */
  isCopied(at) {
    return this.columns.start[at] + this.columns.took[at] < 0;
  }

  /** @param {number} at @returns {"done" | "failed" | "open"} */
  status(at) {
    return { d: "done", f: "failed", o: "open" }[this.columns.status[at]] ?? /** @type {any} */ ("open");
  }

  /** Return the path of a node, as the command line has it. @param {number} at */
  path(at) {
    const parts = [];
    for (let each = at; each >= 0; each = this.columns.parent[each]) {
      let number = 0;
      const up = this.columns.parent[each];
      if (up >= 0) {
        for (let other = this.firstChild[up]; other !== each; other = this.next[other]) {
          if (this.columns.name[other] === this.columns.name[each]) number++;
        }
      }
      parts.push(number ? `${this.name(each)}#${number}` : this.name(each));
    }
    return parts.reverse().join("/");
  }

  /**
   * Return the nodes that are shown, in their order.
   * @param {Set<number>} closed nodes whose children are not shown
   * @param {((at: number) => boolean) | null} wanted only these and those above them
   */
  rows(closed, wanted) {
    const kept = wanted ? this.withAncestors(wanted) : null;
    const found = new Int32Array(this.size);
    const todo = [0];
    let size = 0;
    while (todo.length) {
      let at = /** @type {number} */ (todo.pop());
      while (at >= 0) {
        if (kept && !kept[at]) {
          at = this.next[at];
          continue;
        }
        found[size++] = at;
        const below = closed.has(at) && !kept ? -1 : this.firstChild[at];
        if (below >= 0) {
          if (this.next[at] >= 0) todo.push(this.next[at]);
          at = below;
        } else at = this.next[at];
      }
    }
    return found.subarray(0, size);
  }

  /** @param {(at: number) => boolean} wanted */
  withAncestors(wanted) {
    const kept = new Uint8Array(this.size);
    for (let at = 0; at < this.size; at++) {
      if (!wanted(at)) continue;
      for (let up = at; up >= 0 && !kept[up]; up = this.columns.parent[up]) kept[up] = 1;
    }
    return kept;
  }

  /** Return the first model that was asked; -1: none was. */
  firstModel() {
    return this.columns.name.indexOf(this.columns.names.indexOf("model"));
  }

  /** Return the last answer of a model, of those that stand highest; -1: there is none. */
  lastAnswer() {
    const model = this.columns.names.indexOf("model");
    let found = -1;
    for (let at = 1; at < this.size; at++) {
      if (this.columns.name[at] === model && this.columns.status[at] === "d" && (found < 0 || this.depth[at] <= this.depth[found])) found = at;
    }
    return found;
  }

  /** Return the node at which a run failed: the last one that failed, as far down as it goes; -1: none did. */
  failure() {
    for (let at = this.size - 1; at > 0; at--) if (this.columns.status[at] === "f") return at;
    return -1;
  }
}
