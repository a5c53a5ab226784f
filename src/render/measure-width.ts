import { stripVTControlCharacters } from 'node:util';

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
const PLAIN_ASCII = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a line takes. */
export function measureWidth(line: string): number {
  if (PLAIN_ASCII.test(line)) return line.length;
  let width = 0;
  for (const character of stripVTControlCharacters(line)) {
    if (NO_WIDTH.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** Cuts an unstyled line to a width; a cut line ends in `ellipsis`. */
export function cutToWidth(line: string, columns: number, ellipsis: string): string {
  if (measureWidth(line) <= columns) return line;
  let kept = '';
  let width = measureWidth(ellipsis);
  for (const character of line) {
    width += measureWidth(character);
    if (width > columns) break;
    kept += character;
  }
  return kept + ellipsis;
}
