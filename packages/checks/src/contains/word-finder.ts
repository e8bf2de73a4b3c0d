/** Characters of the text times characters of all words up to which plain searching is bounded and faster. */
const PLAIN_SEARCH_WORK = 4_000_000;

/**
 * Finds which of the words are in a text. The engine's own substring search takes length x length in the worst case;
 * beyond a bound all words are looked for in one pass (Aho and Corasick, 1975), whatever they and the text are.
 */
export function createWordFinder(words: readonly string[]): (text: string) => ReadonlySet<string> {
  const total = words.reduce((sum, word) => sum + word.length, 0);
  let automaton: Automaton | null = null;
  return (text) => {
    if (text.length * total <= PLAIN_SEARCH_WORK) return new Set(words.filter((word) => text.includes(word)));
    automaton ??= buildAutomaton(words);
    return findInOnePass(automaton, text);
  };
}

interface State {
  readonly next: Map<number, State>;
  /** State of the longest proper suffix that is a prefix of a word. */
  suffix: State | null;
  /** Nearest state by suffixes, itself not included, at which a word ends. */
  shorter: State | null;
  word: string | null;
}

interface Automaton {
  readonly root: State;
}

export function buildAutomaton(words: readonly string[]): Automaton {
  const root = newState();
  for (const word of words) {
    let state = root;
    for (let index = 0; index < word.length; index += 1) {
      const unit = word.charCodeAt(index);
      let next = state.next.get(unit);
      if (next === undefined) {
        next = newState();
        state.next.set(unit, next);
      }
      state = next;
    }
    state.word = word;
  }
  linkSuffixes(root);
  return { root };
}

/** Breadth first: a state's suffix is nearer to the root than the state. */
function linkSuffixes(root: State): void {
  const queue: State[] = [root];
  for (const state of queue) {
    for (const [unit, child] of state.next) {
      const suffix = state === root ? root : step(state.suffix ?? root, unit, root);
      child.suffix = suffix;
      child.shorter = suffix.word === null ? suffix.shorter : suffix;
      queue.push(child);
    }
  }
}

export function findInOnePass({ root }: Automaton, text: string): Set<string> {
  const found = new Set<string>();
  if (root.word !== null) found.add(root.word);
  let state = root;
  for (let index = 0; index < text.length; index += 1) {
    state = step(state, text.charCodeAt(index), root);
    let ending: State | null = state;
    while (ending !== null) {
      if (ending.word !== null) {
        // All shorter words that end here were added together with it.
        if (found.has(ending.word)) break;
        found.add(ending.word);
      }
      ending = ending.shorter;
    }
  }
  return found;
}

function step(from: State, unit: number, root: State): State {
  let state: State | null = from;
  while (state !== null) {
    const next = state.next.get(unit);
    if (next !== undefined) return next;
    state = state.suffix;
  }
  return root;
}

function newState(): State {
  return { next: new Map(), suffix: null, shorter: null, word: null };
}
