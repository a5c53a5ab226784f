import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { listTableRows, readSection, readText, root } from './markdown.ts';

/** Phrases by the name that the glossary's table has for them. */
const phrases: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['anew', /\banew\b/i],
  ['mend', /\bmend(?:s|ed|ing)?\b/i],
  ['is another one', /\b(?:is|are|was|were) another one\b/i],
  ['is no X', /(?<!there )\b(?:is|are) no (?!longer\b|more\b|less\b|\w+er than\b)\w/i],
  ['is none', /\b(?:that|which) (?:is|are) none\b/i],
  ['of now', /\bof now\b/i],
  ['held against', /\b(?:held|holds?) (?:\w+ ){0,3}against\b/i],
  ['goes by', /\b(?:goes|go|going) by\b/i],
  ['to himself', /\bto himself\b/i],
  ['whoever', /\bwhoever\b/i],
  ['a line an item', /\b(?:an item|a line) an? (?:line|item)\b/i],
  ['of use', /\bof use\b/i],
  ['spelt alike', /\bspelt alike\b/i],
  ['to and fro', /\bto and fro\b/i],
];

/** What is looked at, as globs from the root. */
const places: readonly string[] = [
  '*.md',
  'bench/**',
  'connectors/**',
  'docker/**',
  'docs/**',
  'examples/**',
  'notebooks/**',
  'src/**',
  'state/**',
  'test/**',
  'tools/**',
];

const files = globSync([...places], { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /(?:\.(?:md|ts|sh|ya?ml|ipynb)|Dockerfile)$/.test(file))
  .filter((file) => file !== 'test/docs/words.test.ts');

describe('words we do not use', () => {
  it('are in no text', () => {
    expect(files.length).toBeGreaterThanOrEqual(places.length);
    expect(files.flatMap(findPhrases)).toEqual([]);
  });

  it('are in the table of the glossary, with what to write', () => {
    const named = listTableRows(readSection('docs/glossary.md', '## Words we do not use')).flatMap(
      ([first = '']) => first.split(', '),
    );
    expect(phrases.map(([name]) => name).filter((name) => !named.includes(name))).toEqual([]);
  });
});

function findPhrases(file: string): readonly string[] {
  return listLines(file).flatMap(({ line, text }) =>
    phrases.filter(([, pattern]) => pattern.test(text)).map(([name]) => `${file}:${line}: ${name}`),
  );
}

/** Lines of a file that are our words: of tests the titles and comments, as their values are what others may write. */
function listLines(file: string): readonly { readonly line: number; readonly text: string }[] {
  const texts = readText(file).split('\n');
  const lines = texts.map((text, index) => ({ line: index + 1, text }));
  const end = lines.find(({ text }) => text === '## Words we do not use')?.line ?? Infinity;
  return lines.filter(
    ({ line, text }) =>
      line < end && (!file.startsWith('test') || isTitleOrComment(text, texts[line - 2] ?? '')),
  );
}

function isTitleOrComment(text: string, before: string): boolean {
  const isTitle =
    /\b(?:it|describe|test)(?:\.\w+)*\(/.test(text) || (/^\s*['"]/.test(text) && /\)\($/.test(before));
  return isTitle || /^\s*(?:\/\/|\/?\*)/.test(text);
}
