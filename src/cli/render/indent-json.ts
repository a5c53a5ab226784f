const INDENT = '  ';

/** JSON text over several lines. Only white space changes: every number and string stays as it was written. */
export function indentJson(text: string): string {
  let result = '';
  let level = 0;
  for (const token of text.match(TOKENS) ?? []) {
    if (token === '{' || token === '[') {
      level += 1;
      result += `${token}\n${INDENT.repeat(level)}`;
    } else if (token === '}' || token === ']') {
      level = Math.max(0, level - 1);
      result += `\n${INDENT.repeat(level)}${token}`;
    } else if (token === ',') result += `,\n${INDENT.repeat(level)}`;
    else if (token === ':') result += ': ';
    else if (!/^\s/.test(token)) result += token;
  }
  // Brackets without anything between them.
  return result.replaceAll(/([{[])\n\s*\n\s*([}\]])/g, '$1$2');
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\s+|[^{}[\],:"\s]+/g;
