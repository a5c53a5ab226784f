/** Ends every comment of ours: one without it is a user's, and stays. */
export const MARK = '[sluice]';

/** Text in a comment that comes from a server or from a file. */
const MOST_CHARACTERS = 600;
const MOST_OF_A_NAME = 120;

/** Text of others as one line: nothing in it controls a terminal or the direction of text, and its length is bounded. */
export function cleanText(text: string, most: number = MOST_CHARACTERS): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    // Marks that reorder or hide what follows; joiners within words stay.
    .replaceAll(/[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, '')
    .trim();
  const characters = [...line];
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}

/** The same for a name. */
export function cleanName(name: string): string {
  return cleanText(name, MOST_OF_A_NAME);
}

/** A comment of these sentences, each without its full stop; it fits into one line and ends with our mark. */
export function writeComment(sentences: readonly (string | undefined)[]): string {
  const written = sentences
    .filter((sentence) => sentence !== undefined && sentence !== '')
    .map((sentence) => (/[.!?…]$/.test(sentence ?? '') ? sentence : `${sentence}.`));
  return [...written, MARK].join(' ');
}

/** Whether we wrote a comment. */
export function isOurs(comment: string): boolean {
  return comment.endsWith(MARK);
}
