import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createFieldTree,
  type FieldTree,
  isRecordObject,
  observeRecord,
} from '../../src/schema/observe-fields.ts';
import { resolveColumns } from '../../src/schema/resolve-columns.ts';
import { EarlyIncoming } from '../../src/warehouse/early-incoming.ts';
import { INCOMING, type IncomingPlace } from '../../src/warehouse/incoming.ts';
import { projectStage } from '../../src/warehouse/project-stage.ts';
import { formatStagedLines } from '../../src/stage/staged-records.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';
import { toRecords } from './load-texts.ts';
import { countRuns } from '../support/seeds.ts';

/** What was seen of the first records of a scan. */
function observeFirst(texts: readonly string[], count = texts.length): FieldTree {
  const tree = createFieldTree();
  for (const { value } of toRecords(texts.slice(0, count)))
    if (isRecordObject(value)) observeRecord(tree, value);
  return tree;
}

function plan(tree: FieldTree) {
  return resolveColumns(tree, [], () => false);
}

function stage({ scratch }: TempDatabase, texts: readonly string[]): string {
  const file = join(scratch, 'records.ndjson');
  writeFileSync(file, formatStagedLines(0, toRecords(texts)));
  return file;
}

function endOf(texts: readonly string[], count: number): number {
  return Buffer.byteLength(formatStagedLines(0, toRecords(texts).slice(0, count)));
}

async function readRows({ database }: TempDatabase) {
  return database.all(`SELECT COLUMNS(*)::VARCHAR FROM ${INCOMING} ORDER BY _sluice_position`);
}

/** Reads parts of a scan as they come, and then the scan; whether the parts counted, and the rows. */
async function loadEarly(
  opened: TempDatabase,
  texts: readonly string[],
  parts: readonly number[],
  place?: IncomingPlace,
) {
  const { database } = opened;
  const file = stage(opened, texts);
  const early = new EarlyIncoming(database, file, place);
  for (const count of parts) {
    const tree = observeFirst(texts, count);
    // The place of a line is told by any line before it.
    const lines = count % 3;
    await early.readTo({ byte: endOf(texts, count - lines), lines }, tree, plan(tree));
  }
  const tree = observeFirst(texts);
  let isUsed: boolean | undefined;
  const watched: Pick<EarlyIncoming, 'complete'> = {
    complete: async (...asked) => (isUsed = await early.complete(...asked)),
  };
  const { rejected } = await projectStage(database, file, plan(tree), { tree, early: watched });
  expect(existsSync(`${file}.part`)).toBe(false);
  return { isUsed, rejected: rejected.count, rows: await readRows(opened) };
}

async function loadWhole(opened: TempDatabase, texts: readonly string[]) {
  const tree = observeFirst(texts);
  const { rejected } = await projectStage(opened.database, stage(opened, texts), plan(tree), { tree });
  return { rejected: rejected.count, rows: await readRows(opened) };
}

const steady = Array.from(
  { length: 12 },
  (_, id) => `{"id":${id},"day":"2026-01-${id + 10}","score":${id / 8}}`,
);

describe('rows that are read before their scan has ended', () => {
  it('are those of the whole scan, whatever came when', async () => {
    const opened = await openTempDatabase();
    const value = fc.constantFrom(
      '1',
      '1.5',
      '"a"',
      '"2026-01-01"',
      'null',
      'true',
      '[1]',
      '-0',
      '1e3',
      '{"b":1}',
    );
    const record = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { maxKeys: 3 }).map(
      (members) =>
        `{${Object.entries(members)
          .map(([name, text]) => `"${name}":${text}`)
          .join(',')}}`,
    );
    const texts = fc.array(fc.oneof({ weight: 20, arbitrary: record }, fc.constant('[1]')), {
      minLength: 2,
      maxLength: 9,
    });
    await fc.assert(
      fc.asyncProperty(
        texts,
        fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
        fc.constantFrom<IncomingPlace>('temporary', 'file'),
        async (all, cuts, place) => {
          const parts = [...new Set(cuts)].filter((cut) => cut < all.length).toSorted((a, b) => a - b);
          const { isUsed: _, ...early } = await loadEarly(opened, all, parts, place);
          expect(early).toEqual(await loadWhole(opened, all));
        },
      ),
      { numRuns: countRuns(40) },
    );
  });

  it('count where the columns stay what they were', async () => {
    const opened = await openTempDatabase();
    const { isUsed, rows } = await loadEarly(opened, steady, [4, 9]);
    expect(isUsed).toBe(true);
    expect(rows).toHaveLength(steady.length);
  });

  it('do not count where a late record changes the columns', async () => {
    const opened = await openTempDatabase();
    const texts = [...steady, '{"id":12,"day":"soon","score":1}'];
    const { isUsed, rows } = await loadEarly(opened, texts, [4, 9]);
    expect(isUsed).toBe(false);
    expect(rows.map(({ day }) => day)).toContain('soon');
  });

  it('do not count where the rest cannot be set apart; the scan is read as a whole', async () => {
    const opened = await openTempDatabase();
    const { database } = opened;
    const file = stage(opened, steady);
    const early = new EarlyIncoming(database, file);
    const tree = observeFirst(steady);
    expect(await early.readTo({ byte: endOf(steady, 4), lines: 0 }, tree, plan(tree))).toBe(true);
    // In the place of the part, as if the disk had no room for it.
    mkdirSync(join(`${file}.part`, 'in-the-way'), { recursive: true });
    await expect(projectStage(database, file, plan(tree), { tree, early })).resolves.toMatchObject({
      releases: false,
    });
    expect(await readRows(opened)).toHaveLength(steady.length);
  });
});
