import { skipString } from './slice-records.ts';

/** Most values of a text that is parsed at once: each takes some 50 bytes of memory, however short it is. */
export const MOST_VALUES = 1_000_000;
/** Most levels of such a text; records may have fewer, and the envelope around them some. */
export const MOST_LEVELS = 600;

// Shorter texts may hold what they like: the worst of them takes no more than some 50 MB.
const HARMLESS_CHARS = 2 ** 20;

/**
 * What a JSON text has more of than memory should hold once it is parsed; undefined for a text in order.
 * 60 MB of brackets are a small answer, and 3 GB of arrays.
 */
export function findExcess(text: string): string | undefined {
  if (text.length <= HARMLESS_CHARS) return undefined;
  let values = 0;
  let level = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at) - 1;
    } else if (code === COMMA) {
      values += 1;
    } else if ((code | 32) === OPENING) {
      values += 1;
      level += 1;
      if (level > MOST_LEVELS) return `more than ${MOST_LEVELS} levels`;
    } else if ((code | 32) === CLOSING) {
      level -= 1;
    }
    if (values > MOST_VALUES) return `more than ${MOST_VALUES.toLocaleString('en-US')} values`;
  }
  return undefined;
}

const QUOTE = 34;
const COMMA = 44;
// Brackets and braces differ in one bit each.
const OPENING = 0x7b;
const CLOSING = 0x7d;
