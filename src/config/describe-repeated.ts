import { describeLines, findRepeatedNames } from '../json/repeated-names.ts';
import { escapeText } from './config-path.ts';

/** Says where a valid JSON text names a member twice, as what follows "it"; undefined if it does so nowhere. */
export function describeRepeated(text: string): string | undefined {
  const [repeated] = findRepeatedNames(text);
  if (repeated === undefined) return undefined;
  return `names ${escapeText(repeated.pointer)} more than once, ${describeLines(repeated)}`;
}
