import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readCheckpoint,
  readCheckpoints,
  readContract,
  writeCheckpoint,
  writeContract,
} from '../../state/checkpoints.ts';
import type { ColumnType } from '../../src/model/schema.ts';
import type { SqlSession } from '../../src/model/sql.ts';
import type { Checkpoint, LearnedColumn } from '../../src/model/stream.ts';
import { hostileText, oddNames } from '../support/hostile-rows.ts';
import { openMigratedDatabase } from '../support/temp-database.ts';
import { countRuns } from '../support/seeds.ts';

const full: Checkpoint = {
  stream: 'prompts',
  slice: '',
  fingerprint: 'f1',
  cursorField: 'meta__date',
  cursorState: 'proved',
  watermark: '2026-01-31',
  keyFields: ['date', 'it\'s "quoted"'],
  keyOrigin: 'learned',
  keyProvedOn: ['2026-01-30', '2026-01-31'],
  lastFullScanAt: '2026-01-31T12:00:00.123Z',
  lastVerifiedAt: '2026-01-31T12:00:00.000Z',
  lastVerdict: 'verified',
  rowsDeclared: 5_000_000_000,
  head: undefined,
  rules: undefined,
  runId: 'run-1',
};

const bare: Checkpoint = {
  stream: 'mentions',
  slice: '',
  fingerprint: 'f2',
  cursorField: undefined,
  cursorState: undefined,
  watermark: undefined,
  keyFields: undefined,
  keyOrigin: undefined,
  keyProvedOn: [],
  lastFullScanAt: undefined,
  lastVerifiedAt: undefined,
  lastVerdict: undefined,
  rowsDeclared: undefined,
  head: undefined,
  rules: undefined,
  runId: 'run-1',
};

describe('checkpoints', () => {
  it('come back as they were written, by stream and slice', async () => {
    const { database } = await openMigratedDatabase();
    expect(await readCheckpoints(database)).toEqual([]);
    expect(await readCheckpoint(database, 'prompts', '')).toBeUndefined();
    await writeCheckpoint(database, full);
    await writeCheckpoint(database, bare);
    await writeCheckpoint(database, { ...full, slice: 'acme', rowsDeclared: 0 });
    expect(await readCheckpoint(database, 'prompts', '')).toEqual(full);
    expect(await readCheckpoint(database, 'mentions', '')).toEqual(bare);
    expect(await readCheckpoints(database)).toEqual([
      bare,
      full,
      { ...full, slice: 'acme', rowsDeclared: 0 },
    ]);
  });

  it('replace the one before', async () => {
    const { database } = await openMigratedDatabase();
    await writeCheckpoint(database, full);
    await writeCheckpoint(database, { ...bare, stream: 'prompts' });
    expect(await readCheckpoints(database)).toEqual([{ ...bare, stream: 'prompts' }]);
  });

  it('are kept or lost with their transaction', async () => {
    const { database } = await openMigratedDatabase();
    await writeCheckpoint(database, full);
    const failing = database.transaction(async () => {
      await writeCheckpoint(database, { ...full, watermark: '2030-01-01' });
      throw new Error('power cut');
    });
    await expect(failing).rejects.toThrow('power cut');
    expect(await readCheckpoint(database, 'prompts', '')).toEqual(full);
  });
});

describe('contracts', () => {
  it('come back in table order, with any field names', async () => {
    const { database } = await openMigratedDatabase();
    const part = fc.oneof(fc.constantFrom(...oddNames), hostileText);
    const type = fc.constantFrom<ColumnType>('BIGINT', 'NULL', 'DECIMAL(38,9)', 'JSON');
    const column = fc.record({ path: fc.array(part, { minLength: 1, maxLength: 4 }), type });
    await fc.assert(
      fc.asyncProperty(fc.array(column, { maxLength: 6 }), async (columns) => {
        const contract = columns.map(({ path, type }, at): LearnedColumn => ({ path, name: `c${at}`, type }));
        await writeContract(database, 'prompts', contract, 'run-1');
        expect(await readContract(database, 'prompts')).toEqual(contract);
      }),
      { numRuns: countRuns(60) },
    );
  });

  it('belong to one stream, and replace the one before', async () => {
    const { database } = await openMigratedDatabase();
    const one: LearnedColumn = { path: ['a', 'b'], name: 'a__b', type: 'BIGINT' };
    const two: LearnedColumn = { path: ['\ud800'], name: 'field', type: 'VARCHAR' };
    await writeContract(database, 'prompts', [one, two], 'run-1');
    await writeContract(database, 'mentions', [two], 'run-1');
    await writeContract(database, 'prompts', [two, one], 'run-2');
    expect(await readContract(database, 'prompts')).toEqual([two, one]);
    expect(await readContract(database, 'mentions')).toEqual([two]);
    expect(await readContract(database, 'other')).toEqual([]);
  });

  it('are plain JSON paths for plain names', async () => {
    const { database } = await openMigratedDatabase();
    await writeContract(database, 's', [{ path: ['meta', 'modelName'], name: 'x', type: 'BIGINT' }], 'r');
    expect(await database.all('SELECT path::VARCHAR AS path FROM _sluice.contracts')).toEqual([
      { path: '["meta","modelName"]' },
    ]);
  });

  it('of 1,000 columns are written in a few statements', async () => {
    const { database } = await openMigratedDatabase();
    const wide = Array.from({ length: 1_000 }, (_, at): LearnedColumn => ({
      path: [`field${at}`],
      name: `field${at}`,
      type: 'BIGINT',
    }));
    const valueCounts: number[] = [];
    const run: SqlSession['run'] = (sql, values) => {
      valueCounts.push(values?.length ?? 0);
      return database.run(sql, values);
    };
    await database.transaction(() =>
      writeContract({ run, all: (sql, values) => database.all(sql, values) }, 's', wide, 'r'),
    );
    // One deletes; each of the others inserts as many of the columns' nine values as it may take.
    expect(valueCounts).toHaveLength(1 + Math.ceil(1_000 / 111));
    expect(Math.max(...valueCounts)).toBeLessThanOrEqual(1_000);
    expect(await readContract(database, 's')).toEqual(wide);
  });
});
