import { readPlaceholder, type ExpandedText, type PlaceholderScope } from './read-placeholder.ts';

/** Plain text, or the content between `${` and its `}`. */
type Part =
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'placeholder'; readonly body: string };

/**
 * Replaces the placeholders of a text, starting with those inside a path or a default:
 * `${file:keys/${ACCOUNT}}`. Results are not expanded again: the value of a variable is never a placeholder.
 */
export function expandText(text: string, scope: PlaceholderScope, isSecret: boolean): ExpandedText {
  const expand = (inner: string) => expandText(inner, scope, isSecret);
  const parts = splitText(text).map((part) =>
    part.kind === 'text'
      ? { text: part.text, origins: [], missing: [] }
      : readPlaceholder(part.body, scope, isSecret, expand),
  );
  return {
    text: parts.map((part) => part.text).join(''),
    origins: parts.flatMap(({ origins }) => origins),
    missing: parts.flatMap(({ missing }) => missing),
  };
}

function splitText(text: string): readonly Part[] {
  const parts: Part[] = [];
  let at = 0;
  while (at < text.length) {
    const [mark] = /\$\$\{|\$\{/.exec(text.slice(at)) ?? [];
    const start = mark === undefined ? text.length : text.indexOf(mark, at);
    if (start > at) parts.push({ kind: 'text', text: text.slice(at, start) });
    if (mark === undefined) break;
    at = start + mark.length;
    if (mark === '$${') {
      parts.push({ kind: 'text', text: '${' });
      continue;
    }
    const end = findEnd(text, at);
    // Without an end it is not a placeholder, and the rest of the text is skipped.
    parts.push({ kind: 'placeholder', body: end === undefined ? '' : text.slice(at, end) });
    at = end === undefined ? text.length : end + 1;
  }
  return parts;
}

/** The position of the `}` that matches the `${` before `start`. */
function findEnd(text: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < text.length; at += 1) {
    if (text.startsWith('${', at)) depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
