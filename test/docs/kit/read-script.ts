/** One line of a script that a shell adds nothing to. */
export type ScriptLine =
  | { readonly kind: 'export'; readonly name: string; readonly value: string }
  /** `sluice <args>`, its results written to a file where one is named. */
  | { readonly kind: 'sluice'; readonly args: readonly string[]; readonly target: string | undefined };

/** Reads a script of `sluice` and `export` lines; undefined where any line needs a shell. */
export function readScript(script: string): readonly ScriptLine[] | undefined {
  const lines = script.split('\n').map((line) => splitWords(line));
  const commands = lines.filter((words) => words?.length !== 0).map((words) => words && readLine(words));
  return commands.every((command) => command !== undefined) ? commands : undefined;
}

function readLine(words: readonly string[]): ScriptLine | undefined {
  const [first, ...rest] = words;
  if (first === 'export' && rest.length === 1) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(rest[0] ?? '') ?? [];
    return name === undefined || value === undefined ? undefined : { kind: 'export', name, value };
  }
  const args =
    first === 'npx' && rest[0] === 'sluice' ? rest.slice(1) : first === 'sluice' ? rest : undefined;
  if (args === undefined) return undefined;
  const arrow = args.indexOf('>');
  if (arrow === -1) return { kind: 'sluice', args, target: undefined };
  return arrow === args.length - 2
    ? { kind: 'sluice', args: args.slice(0, arrow), target: args.at(-1) }
    : undefined;
}

// A word in quotes, a plain word, or a comment; everything else means something to a shell.
const TOKEN = /\s*(?:(#.*)$|'([^']*)'|"([^"$`\\]*)"|([^\s'"$`\\()|&;<>*?#~]+|>)(?=\s|$))/y;

function splitWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  TOKEN.lastIndex = 0;
  for (;;) {
    if (line.slice(TOKEN.lastIndex).trim() === '') return words;
    const found = TOKEN.exec(line);
    if (found === null) return undefined;
    const [, comment, single, double, plain] = found;
    if (comment === undefined) words.push(single ?? double ?? plain ?? '');
    else return words;
  }
}
