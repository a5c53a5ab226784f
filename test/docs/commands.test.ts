import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { globalOptions } from '../../src/cli/options/global-options.ts';
import { parseCommandLine } from '../../src/cli/parse-command-line.ts';
import { resolveValues } from '../../src/cli/options/resolve-values.ts';
import { listBlocks, listCode, listMarkdown, readText } from './markdown.ts';

const files = listMarkdown();

describe('commands in the docs', () => {
  it('have a section each on their page, all of them and no others', () => {
    const sections = [...readText('docs/commands.md').matchAll(/^## sluice (.+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(commands.map(({ name }) => name));
  });

  it.each(listCommandLines())('%s: sluice %s', async (_, line) => {
    const argv = splitWords(line);
    const parsed = await parseCommandLine(argv, commands);
    if (parsed.kind === 'help') {
      expect(parsed.asked).toBe(true);
      return;
    }
    expect(parsed.kind).toBe('run');
    if (parsed.kind !== 'run') return;
    const sources = { flags: parsed.flags, env: {}, nowMs: Date.UTC(2026, 10, 20) };
    expect(() => resolveValues(globalOptions, sources)).not.toThrow();
    const options = Object.fromEntries(parsed.command.options.map((option) => [option.flag, option]));
    expect(() => resolveValues(options, sources)).not.toThrow();
  });

  it('name only options that exist', async () => {
    const loaded = await Promise.all(commands.map(({ load }) => load()));
    const options = [...Object.values(globalOptions), ...loaded.flatMap((command) => command.options)];
    const known = new Set(['help', 'version', ...options.map(({ flag }) => flag)]);
    // Of npm, docker, git and dbt, and of our own scripts: written as `npm … --flag` they are not options of ours.
    const foreign = [
      'build-arg',
      'ignore-scripts',
      'minutes',
      'only',
      'cpu-prof',
      'dbname',
      'target',
      'vars',
    ];
    const unknown = files.flatMap((file) =>
      listCode(readText(file))
        .flatMap((code) => [...code.matchAll(/(?<![\w-])--([a-z][a-z-]+)/g)].map((match) => match[1] ?? ''))
        .filter((flag) => !known.has(flag) && !foreign.includes(flag))
        .map((flag) => `${file}: --${flag}`),
    );
    expect(unknown).toEqual([]);
  });

  it('of npm are scripts of the project', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { readonly scripts: object };
    const unknown = files.flatMap((file) =>
      [...readText(file).matchAll(/npm run (?:--\S+ )*([\w:-]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !Object.hasOwn(scripts, name))
        .map((name) => `${file}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

/** Command lines of shell blocks, and those in backticks that begin with `sluice`. */
function listCommandLines(): readonly (readonly [file: string, line: string])[] {
  return files.flatMap((file) => {
    const lines = listBlocks(file)
      .filter(({ language }) => ['sh', 'bash', ''].includes(language))
      .flatMap(({ text }) => text.split('\n'))
      // Comments and redirections are the shell's.
      .map((line) => line.replace(/\s+(#|>|\|).*$/, ''));
    const found = [...lines, ...listCode(readText(file))].flatMap((line) => {
      const rest = /^\s*(?:npx )?sluice (?!<)(.+)$/.exec(line)?.[1];
      return rest === undefined ? [] : [rest];
    });
    return [...new Set(found)].map((line) => [file, line] as const);
  });
}

/** Words of a simple shell line: quotes, no escapes, no expansion; a placeholder stands for a word. */
function splitWords(line: string): readonly string[] {
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)];
  const values: Readonly<Record<string, string>> = {
    DATE: '2026-01-31',
    FILE: 'sluice.yaml',
    ID: 'nightly',
    N: '100',
    SQL: 'SELECT 1',
  };
  return words.map(([, double, single, plain]) => {
    const word = double ?? single ?? plain ?? '';
    return values[word] ?? word;
  });
}
