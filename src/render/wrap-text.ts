import { measureWidth } from './measure-width.ts';

/**
 * Wraps lines that are wider than a terminal between words. Wrapped text is indented like its line, or by
 * `hang`. A word wider than the terminal, such as a path, is not broken.
 */
export function wrapText(text: string, columns: number | undefined, hang?: number): string {
  if (columns === undefined) return text;
  return text
    .split('\n')
    .map((line) => (measureWidth(line) <= columns ? line : wrapLine(line, columns, hang)))
    .join('\n');
}

function wrapLine(line: string, columns: number, hang: number | undefined): string {
  const indent = line.length - line.trimStart().length;
  const wanted = hang ?? (indent === 0 ? 0 : indent + 2);
  // On a very narrow terminal, a deep indent would leave no room for words.
  const next = ' '.repeat(Math.min(wanted, Math.floor(columns / 2)));
  const lines: string[] = [];
  let current = ' '.repeat(indent);
  let isEmpty = true;
  for (const word of line.trimStart().split(' ')) {
    if (!isEmpty && measureWidth(current) + 1 + measureWidth(word) > columns) {
      lines.push(current.trimEnd());
      current = next + word;
    } else {
      current += isEmpty ? word : ` ${word}`;
    }
    isEmpty = false;
  }
  return [...lines, current].join('\n');
}
