import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

// Prints how the code is built, in numbers: what grew too large, and what steers in a way that is hard to follow.
// Run: node tools/measure-house.ts

interface Row {
  readonly what: string;
  readonly found: number | string;
  readonly target: number | string;
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly lines: number;
  readonly tree: ts.SourceFile;
}

const root = path.resolve(import.meta.dirname, '..');
const SPLINTER_LINES = 40;
/** A kind of destination, its key in the config, or its publisher. A report's key `duckdbPath` is the readers' file. */
const DESTINATION =
  /'(?:duckdb|parquet|ducklake|iceberg|postgres|motherduck)'|^\s+(?:duckdb|parquet|ducklake|iceberg|postgres|motherduck):|\b(?:lakePath|publishesDuckdb)\b|\/(?:lake|duckdb-file|lakehouse)\/[\w-]+\.ts'/m;
/** Files that may know only their own destination. */
const PUBLISHERS =
  /^src\/(?:publish\/(?:lake|duckdb-file|lakehouse)\/|config\/(?:ducklake|iceberg|postgres|motherduck)-destination\.ts$)/;
const sources = ['src', 'state', 'connectors'].flatMap(listSources);
const product = sources.filter(({ file }) => file.startsWith('src/'));
const functions = sources.flatMap(({ tree }) => [...listFunctions(tree)]);

for (const { what, found, target } of measure())
  process.stdout.write(`${what.padEnd(58)} ${String(found).padStart(18)}   ${String(target)}\n`);

function measure(): readonly Row[] {
  const parameters = functions.map(({ parameters: own }) => own.length);
  const decisions = sources.flatMap(listDecisions);
  const rooms = measureRooms();
  const cli = rooms.get('cli') ?? 0;
  const others = [...rooms].filter(([name]) => name !== 'cli').map(([, lines]) => lines);
  const all = product.reduce((sum, { lines }) => sum + lines, 0);
  const share = (lines: number) => `${Math.round((lines / all) * 1_000) / 10} %`;
  return [
    { what: 'what', found: 'found', target: 'target' },
    { what: 'lines in src', found: all, target: '47,000' },
    { what: 'share of cli', found: share(cli), target: '15 %' },
    { what: 'share of the largest other room', found: share(Math.max(...others)), target: '12 %' },
    { what: 'most parameters of a function', found: Math.max(...parameters), target: 4 },
    { what: 'functions with 5 parameters or more', found: countAbove(parameters, 4), target: 0 },
    { what: 'functions that take the whole run', found: countWhole(), target: '< 30' },
    { what: 'exceptions that are not errors', found: decisions.length, target: 0 },
    { what: 'loops over attempts', found: countLoops(), target: 1 },
    {
      what: 'files that name a destination',
      found: countFiles(DESTINATION, PUBLISHERS),
      target: '<= 6',
    },
    {
      what: 'files that name an order of pages',
      found: countFiles(/\bpaging\.kind\b|kind === '(?:offset|cursor|page-number|link)'/),
      target: '<= 3',
    },
    {
      what: `files of ${SPLINTER_LINES} lines or fewer with one importer`,
      found: countSplinters(),
      target: '<= 8',
    },
    { what: 'files within 15 lines of the limit of 300', found: countFull(), target: '-' },
  ];
}

function listSources(folder: string): readonly Source[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = path.posix.join(folder, name.split(path.sep).join('/'));
      const text = readFileSync(path.join(root, file), 'utf8');
      const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
      return { file, text, lines: text.split('\n').length - 1, tree };
    });
}

function* listFunctions(node: ts.Node): Generator<ts.FunctionLikeDeclaration> {
  if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) yield node;
  for (const child of node.getChildren()) yield* listFunctions(child);
}

function measureRooms(): ReadonlyMap<string, number> {
  const rooms = new Map<string, number>();
  for (const { file, lines } of product) {
    const [, room = ''] = file.split('/');
    rooms.set(room, (rooms.get(room) ?? 0) + lines);
  }
  return rooms;
}

function countAbove(counts: readonly number[], most: number): number {
  return counts.filter((count) => count > most).length;
}

/** Functions with a parameter of type RunContext that is not taken apart in the signature. */
function countWhole(): number {
  return functions.filter(({ parameters }) =>
    parameters.some(({ name, type }) => type?.getText() === 'RunContext' && ts.isIdentifier(name)),
  ).length;
}

/** Classes that are thrown and are not named as errors: they steer. */
function listDecisions({ tree }: Source): readonly string[] {
  return tree.statements.flatMap((statement) => {
    if (!ts.isClassDeclaration(statement) || statement.name === undefined) return [];
    const parent = statement.heritageClauses?.[0]?.types[0]?.expression.getText();
    const name = statement.name.text;
    return parent === 'Error' && !/(?:Error|Fault|Problem)$/.test(name) ? [name] : [];
  });
}

function countLoops(): number {
  return sources.reduce(
    (sum, { text }) => sum + [...text.matchAll(/for \(let (?:rescans|attempt)\b/g)].length,
    0,
  );
}

function countFiles(pattern: RegExp, own?: RegExp): number {
  return product.filter(({ file, text }) => pattern.test(text) && own?.test(file) !== true).length;
}

function countSplinters(): number {
  const importers = new Map<string, Set<string>>();
  for (const { file, text } of sources)
    for (const [, to = ''] of text.matchAll(/'(\.{1,2}\/[^']+\.ts)'/g)) {
      const target = path.posix.join(path.posix.dirname(file), to);
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  return product.filter(({ file, lines }) => {
    const [only, ...more] = importers.get(file) ?? [];
    const isNear = only !== undefined && path.posix.dirname(only) === path.posix.dirname(file);
    return lines <= SPLINTER_LINES && isNear && more.length === 0;
  }).length;
}

function countFull(): number {
  return product.filter(({ lines }) => lines > 285).length;
}
