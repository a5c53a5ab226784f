import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parseContract } from '../../src/contract/parse-contract.ts';
import { parseExact } from '../../src/json/exact-number.ts';
import type { ColumnRule, ContractMode } from '../../src/model/schema.ts';
import type { LearnedColumn, Stream } from '../../src/model/stream.ts';
import { checkContract } from '../../src/load/check-contract.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../../src/schema/observe-fields.ts';
import { resolveColumns } from '../../src/schema/resolve-columns.ts';
import { formatStagedLines } from '../../src/stage/staged-records.ts';
import { makeCheckpoint, makeStream } from '../support/fixtures.ts';
import { countRuns } from '../support/seeds.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-hold-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
let files = 0;

interface Case {
  readonly texts: readonly string[];
  readonly modes?: Partial<Record<'columns' | 'types', ContractMode>>;
  readonly file?: string | undefined;
  readonly learned?: readonly LearnedColumn[];
  readonly columns?: Readonly<Record<string, ColumnRule>>;
  readonly slice?: Readonly<Record<string, string>>;
}

async function hold({ texts, modes = {}, file, learned = [], columns = {}, slice }: Case) {
  const records = texts.map((text) => ({ text, value: parseExact(text), exact: true }));
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  const recordsFile = join(folder, `records-${(files += 1)}.ndjson`);
  writeFileSync(recordsFile, formatStagedLines(0, records));
  const schema =
    file === undefined ? undefined : { path: 'items.schema.json', json: parseContract(file).json ?? {} };
  const stream: Stream = {
    ...makeStream(),
    columns,
    contract: { columns: 'evolve', types: 'evolve', ...modes, schema },
    slice: slice && { id: 'slice', values: slice, params: slice, fingerprint: 'f' },
  };
  const checkpoint = makeCheckpoint({ lastFullScanAt: '2026-01-01T00:00:00.000Z' });
  const held = await checkContract(
    { stream, hashKey: undefined, checkpoint, learned },
    { recordsFile, tree },
    undefined,
  );
  const rows = records.map(({ value }) => held.hold?.(value) ?? { value });
  return { held, rows, tree };
}

describe('a contract that can change nothing', () => {
  it.each<[string, Partial<Case>]>([
    ['evolves', {}],
    ['has nothing learned to hold records against', { modes: { columns: 'freeze', types: 'freeze' } }],
  ])('leaves the records unread: it %s', async (_, parts) => {
    const { held, tree } = await hold({ texts: ['{"a":1}', 'null'], ...parts });
    expect(held.hold).toBeUndefined();
    expect(held.tree).toBe(tree);
  });
});

describe("a slice's values", () => {
  it('fill the fields that no record has, without reading them again', async () => {
    const { held, rows, tree } = await hold({ texts: ['{"a":1}', '{"a":2}'], slice: { entity: 'acme' } });
    expect(held.tree).toBe(tree);
    expect(rows.map(({ value }) => value)).toEqual([
      { a: 1, entity: 'acme' },
      { a: 2, entity: 'acme' },
    ]);
    expect(resolveColumns(held.tree, [], () => true).map(({ name, type }) => [name, type])).toEqual([
      ['a', 'BIGINT'],
      ['entity', 'VARCHAR'],
    ]);
    expect(held.tree.root.children.get('entity')?.filled).toBe(2);
  });

  it('fill them where some records lack them, and leave those that are null', async () => {
    const { held, rows } = await hold({
      texts: ['{"a":1}', '{"entity":"own"}', '{"entity":null}'],
      slice: { entity: 'acme' },
    });
    expect(rows.map(({ value }) => (value as { entity: unknown }).entity)).toEqual(['acme', 'own', null]);
    expect(held.tree.root.children.get('entity')?.filled).toBe(2);
  });

  it('are not needed where every record has its own', async () => {
    const { held } = await hold({ texts: ['{"entity":"x"}'], slice: { entity: 'acme' } });
    expect(held.hold).toBeUndefined();
  });
});

describe('what a contract makes of records', () => {
  const value = fc.oneof(
    fc.constantFrom(
      '1',
      '2.5',
      '"x"',
      '"12"',
      'true',
      'null',
      '"2026-01-31"',
      '[1]',
      '{"b":1}',
      '{"b":"y","c":2}',
      '9007199254740993',
    ),
  );
  const record = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), value), { maxLength: 4 })
    .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`);
  const mode = fc.constantFrom<ContractMode>('evolve', 'freeze', 'discard_row', 'discard_value');
  const learned: readonly LearnedColumn[] = [
    { path: ['a'], name: 'a', type: 'BIGINT' },
    { path: ['b', 'b'], name: 'b__b', type: 'BIGINT' },
  ];
  const fileText =
    '{"properties":{"a":{"type":"integer","maximum":1},"b":{},"c":{"enum":["x",1]}},"required":["a"]}';

  it('is the same in any order of the records', async () => {
    const scenario = fc.record({
      texts: fc.array(record, { minLength: 1, maxLength: 8 }),
      modes: fc.record({ columns: mode, types: mode }),
      file: fc.option(fc.constant(fileText), { nil: undefined }),
      learned: fc.constantFrom([], learned),
      columns: fc.constantFrom<Readonly<Record<string, ColumnRule>>>(
        {},
        { c: { kind: 'type', type: 'BIGINT' } },
      ),
      order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ order, ...parts }) => {
        const shuffled = parts.texts
          .map((text, at) => ({ text, rank: order[at] ?? 0 }))
          .toSorted((a, b) => a.rank - b.rank)
          .map(({ text }) => text);
        const describe = async (texts: readonly string[]) => {
          const { held } = await hold({ ...parts, texts });
          const forced = new Map(
            held.forced.map(({ path, type, converts }) => [
              JSON.stringify(path),
              { type, converts, survives: true },
            ]),
          );
          const { rejected, failing, discarded } = held.findings;
          return {
            columns: resolveColumns(held.tree, parts.learned, () => true, forced)
              .map(({ name, type }) => `${name} ${type}`)
              .toSorted(),
            counts: [rejected, failing, discarded].map((counts) => [
              counts.records,
              counts
                .list()
                .map(({ field, reason, count }) => `${field} ${reason} ${count}`)
                .toSorted(),
            ]),
          };
        };
        expect(await describe(shuffled)).toEqual(await describe(parts.texts));
      }),
      { numRuns: countRuns(150) },
    );
  });

  it('loses no record: each is a row, in quarantine, or fails the stream', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(record, fc.constantFrom('null', '5', '[1]')), { minLength: 1, maxLength: 8 }),
        fc.record({ columns: mode, types: mode }),
        async (texts, modes) => {
          const { held, rows } = await hold({ texts, modes, file: fileText, learned });
          const { rejected, failing } = held.findings;
          expect(rows.filter((row) => row.value === undefined)).toHaveLength(rejected.records);
          expect(held.tree.records).toBe(texts.length - rejected.records);
          if (modes.columns !== 'freeze' && modes.types !== 'freeze') expect(failing.records).toBe(0);
          for (const row of rows) {
            if (row.value !== undefined) continue;
            expect(row).toMatchObject({
              reason: expect.any(String) as string,
              path: expect.any(String) as string,
            });
          }
        },
      ),
      { numRuns: countRuns(150) },
    );
  });
});
