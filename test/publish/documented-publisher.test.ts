import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, expect, it } from 'vitest';
import type { OfflineSettings } from '../../src/model/settings.ts';
import type { Publisher } from '../../src/publish/publisher.ts';
import { listBlocks, readText, root } from '../docs/markdown.ts';
import { describeFence } from './fence-conformance.ts';
import type { PublisherCase } from './publish-world.ts';
import { describePublisher } from './publisher-conformance.ts';

const PAGE = 'docs/writing-a-publisher.md';

/** The publisher of the page, in a file of its own; where it imports from is the only change. */
const folder = mkdtempSync(join(tmpdir(), 'sluice-publisher-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
const file = join(folder, 'json-lines.ts');
writeFileSync(
  file,
  listBlocks(PAGE, 'ts')
    .map(({ text }) => text)
    .join('\n')
    .replaceAll("'../../../state/", `'${root}/state/`)
    .replaceAll("'../../", `'${root}/src/`)
    .replaceAll(/'\.\.\/(publisher|holder-mark)\.ts'/g, `'${root}/src/publish/$1.ts'`),
);
const { createJsonLinesPublisher } = (await import(file)) as {
  readonly createJsonLinesPublisher: (place: string, settings: OfflineSettings) => Publisher;
};

it('type-checks', () => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (name) => ts.sys.readFile(name)) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram([file], {
    ...options,
    noEmit: true,
    incremental: false,
    // Its imports are absolute here.
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    rootDir: '/',
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
  });
  const found = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  expect(found).toEqual([]);
});

it('names every member of the interface', () => {
  const source = readText('src/publish/publisher.ts');
  const body = /interface AnyPublisher \{\n([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
  const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name = '']) => name);
  expect(members.length).toBeGreaterThan(5);
  const page = readText(PAGE);
  expect([...members, 'isDue', 'publish'].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

const page: PublisherCase = {
  destination: () => ({ duckdb: './unused.duckdb' }),
  place: (folder) => join(folder, 'out', 'jsonl'),
  create: (settings, place) => createJsonLinesPublisher(place, settings),
  read: (place) => Promise.resolve(readItems(findFile(place))),
  openReader: (place) => {
    const held = findFile(place);
    return Promise.resolve({
      read: () => Promise.resolve(readItems(held) ?? []),
      close: () => undefined,
    });
  },
  damage: (place) => {
    truncateSync(findFile(place) ?? '', 5);
    return Promise.resolve();
  },
};

describePublisher('the page', page);
describeFence('the page', () => page, { stride: 9, claimStride: 3, pairs: 4 });

/** The file of the table that readers are led to; undefined before anything is published. */
function findFile(place: string): string | undefined {
  const current = join(place, 'current.json');
  if (!existsSync(current)) return undefined;
  const { folder: rows } = JSON.parse(readFileSync(current, 'utf8')) as { readonly folder: string };
  expect(readdirSync(join(place, rows))).toEqual(['items.jsonl']);
  return join(place, rows, 'items.jsonl');
}

function readItems(path: string | undefined): readonly number[] | undefined {
  if (path === undefined) return undefined;
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines
    .map((line) => (JSON.parse(line) as { readonly value: number }).value)
    .toSorted((a, b) => a - b);
}
