import { existsSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { listTableRows, readSection, readText, root } from './markdown.ts';

const PAGE = 'docs/faults.md';

/** Sections of the page with the numbers of their cases. */
const sections: Readonly<Record<string, readonly string[]>> = {
  '## A. Connections and the protocol': count(1, 35),
  '## B. What the API answers': count(36, 51),
  '## C. Limits and time': [...count(52, 76), 'C1', 'C2'],
  '## D. Pages': count(77, 94),
  '## E. Records and columns': count(95, 111),
  '## F. State, crashes and processes': count(112, 129),
  '## G. Disks and files': count(130, 141),
  '## H. Config, command line and secrets': count(142, 153),
  '## I. Security': count(154, 164),
  '## J. The lake': count(165, 184),
  '## K. Commands that ask the API nothing': count(185, 187),
  '## L. On call': ['L1', 'L2', 'L3', 'L4'],
  '## M. Files that must prove what they hold': count(1, 8).map((number) => `M${number}`),
  '## N. Accounts, destinations and copies': count(1, 18).map((number) => `N${number}`),
  '## O. Slices, keys and quarantine': ['O1', 'O2', 'O3', 'O4'],
  '## Q. Trust: versions, counts and clocks': count(1, 20).map((number) => `Q${number}`),
  '## R. Lakehouses and Postgres': count(1, 13).map((number) => `R${number}`),
  '## S. Fleets': count(1, 10).map((number) => `S${number}`),
  '## P. What holds for any sequence of faults': count(1, 18).map((number) => `P${number}`),
};

const rows = Object.keys(sections).flatMap((heading) =>
  listTableRows(readSection(PAGE, heading)).map((cells) => ({ heading, number: cells[0] ?? '', cells })),
);

describe('docs/faults.md', () => {
  it.each(Object.entries(sections))('has every case once, in order: %s', (heading, numbers) => {
    const told = rows.filter((row) => row.heading === heading).map(({ number }) => number);
    expect(told).toEqual(numbers);
  });

  it.each(rows)('has a test for case $number', ({ cells }) => {
    expect(cells).toHaveLength(6);
    expect(cells.filter((cell) => cell === '')).toEqual([]);
    const proofs = readProofs(cells[4] ?? '');
    expect(proofs).not.toEqual([]);
    for (const { file, title, row } of proofs) {
      const { titles, texts } = readTestFile(file);
      expect(titles).toContain(title);
      if (row !== undefined) expect(texts).toContain(row);
    }
  });
});

function count(first: number, last: number): readonly string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
}

interface Proof {
  readonly file: string;
  readonly title: string;
  /** A text of the row, where the test has a table of them. */
  readonly row: string | undefined;
}

/** Tests that a cell names, each as `file`: title [row]. */
function readProofs(cell: string): readonly Proof[] {
  return cell.split(/(?:; |^)(?=`test\/)/).flatMap((proof) => {
    if (proof === '') return [];
    const [, file, title, row] = /^`(test\/[^`]+\.test\.ts)`: (.+?)(?: \[([^\]]+)\])?$/.exec(proof) ?? [];
    if (file === undefined || title === undefined) throw new Error(`no proof: ${proof}`);
    return [{ file, title, row }];
  });
}

interface TestFile {
  /** As the source has them, with those of its suites; those of tables as their template. */
  readonly titles: readonly string[];
  /** Every text in the file and in those of the tests that it imports. */
  readonly texts: readonly string[];
}

const known = new Map<string, TestFile>();

function readTestFile(file: string): TestFile {
  const found = known.get(file) ?? parseTestFile(file);
  known.set(file, found);
  return found;
}

function parseTestFile(file: string): TestFile {
  if (!existsSync(path.join(root, file))) throw new Error(`${PAGE} names ${file}, which does not exist`);
  const titles: string[] = [];
  const texts: string[] = [];
  const imports: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && nameOf(node.expression) === 'it') {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.push(title.text);
    }
    if (ts.isImportDeclaration(node)) imports.push((node.moduleSpecifier as ts.StringLiteral).text);
    if (ts.isStringLiteralLike(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readText(file), ts.ScriptTarget.Latest));
  const open = (name: string) => readTestFile(path.posix.join(path.posix.dirname(file), name));
  const beside = imports.filter((name) => /^\.\/(kit|scenarios)\//.test(name)).map(open);
  // Tests that several files run, each for a place of its own.
  const suites = imports.filter((name) => /^\.\/[\w-]+-suite\.ts$/.test(name)).map(open);
  return {
    titles: [...titles, ...suites.flatMap((suite) => suite.titles)],
    texts: [...texts, ...beside.flatMap((one) => one.texts)],
  };
}

/** The function that `it(…)`, `it.skipIf(…)(…)` and `it.each(…)(…)` begin with. */
function nameOf(callee: ts.Expression): string | undefined {
  if (ts.isIdentifier(callee)) return callee.text;
  if (ts.isPropertyAccessExpression(callee)) return nameOf(callee.expression);
  return ts.isCallExpression(callee) ? nameOf(callee.expression) : undefined;
}
