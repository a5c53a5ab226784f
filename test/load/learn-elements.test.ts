import { describe, expect, it } from 'vitest';
import { migrate } from '../../state/migrations.ts';
import type { Stream } from '../../src/model/stream.ts';
import { readElements } from '../../state/elements.ts';
import { rememberMasks } from '../../src/load/plan-columns.ts';
import { learnElements } from '../../src/load/learn-elements.ts';
import { unpackElementFields } from '../../src/schema/element-fields.ts';
import { createEngineDialect } from '../../src/views/engine-dialect.ts';
import { planViews } from '../../src/views/plan-views.ts';
import type { ViewTable } from '../../src/views/view.ts';
import { Database } from '../../src/warehouse/database.ts';
import { MEMORY_FILE } from '../../src/warehouse/database-options.ts';

/** Field names learned of arrays that one transaction wrote, some of them over rows of an earlier one. */
async function learn(arrays: string, earlier = 'SELECT 0 WHERE false'): Promise<readonly string[]> {
  const database = await Database.open({ file: MEMORY_FILE, folders: [] });
  try {
    await migrate(database, MEMORY_FILE);
    await database.run('CREATE TABLE items (sources JSON, _run_id VARCHAR)');
    await database.run(`INSERT INTO items SELECT *, 'before' FROM (${earlier})`);
    await database.transaction(async () => {
      await database.run(`UPDATE items SET _run_id = 'now' WHERE rowid = 0`);
      await database.run(`INSERT INTO items SELECT *, 'now' FROM (${arrays})`);
      await learnElements({ database, runId: 'now' }, { name: 'items', table: 'items' });
    });
    const [row] = await database.all('SELECT fields FROM _sluice.elements');
    const { fields } = JSON.parse(String(row?.['fields'])) as { fields: object };
    return Object.keys(fields);
  } finally {
    await database.release();
  }
}

describe('learning the fields of elements', () => {
  // Rows that are not committed have numbers that a double rounds.
  it('looks at the first row that has an object, wherever it is', async () => {
    for (let first = 0; first < 5; first += 1) {
      const arrays = `SELECT CASE WHEN range < ${first} THEN '[]' WHEN range = ${first} THEN '[{"only":1}]' ELSE '[{"other":1}]' END FROM range(12)`;
      expect(await learn(arrays), `row ${first}`).toEqual(['only', 'other']);
    }
  });

  it('looks at all rows, also where some were committed before and some are large', async () => {
    const large = `repeat('x', CASE WHEN range % 1700 = 0 THEN 6000000 ELSE 10 END)`;
    const arrays = `SELECT '[{"f' || (range // 250) || '":"' || ${large} || '"}]' FROM range(5000)`;
    const earlier = `SELECT '[{"earlier":1}]' FROM range(3)`;
    const wanted = ['earlier', ...Array.from({ length: 20 }, (_, at) => `f${at}`)];
    expect((await learn(arrays, earlier)).toSorted()).toEqual(wanted.toSorted());
  });
});

describe('elements with more names than a record has', () => {
  it('are maps without fields, in one run or over several', async () => {
    const map = (from: number, to: number) => `SELECT '[{"k' || range || '":1}]' FROM range(${from}, ${to})`;
    expect(await learn(map(0, 250))).toHaveLength(250);
    expect(await learn(map(0, 251))).toEqual([]);
    expect(await learn(map(0, 20), map(20, 400))).toEqual([]);
  });

  it('are whole in their view', async () => {
    const arrays = [
      `[${Array.from({ length: 251 }, (_, at) => `{"k${at}":9007199254740993.25}`).join(',')}]`,
      '[{"k0":[1]},null,"text"]',
    ];
    const database = await Database.open({ file: MEMORY_FILE, folders: [] });
    try {
      await migrate(database, MEMORY_FILE);
      await database.run('CREATE TABLE items (id BIGINT, tags JSON, _run_id VARCHAR)');
      for (const [id, text] of arrays.entries())
        await database.run(`INSERT INTO items VALUES (${id}, $1, 'now')`, [text]);
      await learnElements({ database, runId: 'now' }, { name: 'items', table: 'items' });
      const elements = await readElements(database, 'items');
      const table: ViewTable = {
        name: 'items',
        columns: new Map([
          ['id', 'BIGINT'],
          ['tags', 'JSON'],
        ]),
        hasHistory: false,
        key: ['id'],
        cursor: undefined,
        account: undefined,
        elements: new Map([['tags', unpackElementFields([elements.get('tags') ?? ''])]]),
      };
      const dialect = createEngineDialect((schema, name) => `"${schema}"."${name}"`);
      const [view] = planViews([table], { dialect }).views;
      const rows = await database.all(`SELECT * FROM (${view?.select}) WHERE id = 1 OR _index = 250`);
      expect(rows.map((row) => [Number(row['id']), Number(row['_index']), row['_value']])).toEqual([
        [0, 250, '{"k250":9007199254740993.25}'],
        [1, 0, '{"k0":[1]}'],
        [1, 1, null],
        [1, 2, '"text"'],
      ]);
      expect(Object.keys(rows[0] ?? {})).toEqual(['id', '_index', '_value']);
    } finally {
      await database.release();
    }
  });
});

describe('a run that wrote no row', () => {
  it('reads only columns that were never looked at', async () => {
    const database = await Database.open({ file: MEMORY_FILE, folders: [] });
    try {
      await migrate(database, MEMORY_FILE);
      await database.run(`CREATE TABLE items AS SELECT '[{"a":1}]'::JSON AS votes, 'r' AS _run_id`);
      const stream = { name: 'items', table: 'items' };
      await learnElements({ database, runId: 'r' }, stream);
      await database.run(
        `CREATE OR REPLACE TABLE items AS SELECT '[{"b":1}]'::JSON AS votes, '[{"c":1}]'::JSON AS sources, 'r' AS _run_id`,
      );
      await learnElements({ database, runId: 'r' }, stream, 'none');
      const learned = await readElements(database, 'items');
      expect(learned.get('votes')).not.toContain('"b"');
      expect(learned.get('sources')).toContain('"c"');
    } finally {
      await database.release();
    }
  });
});

describe('a new mask', () => {
  it('forgets the names that were learned under it', async () => {
    const database = await Database.open({ file: MEMORY_FILE, folders: [] });
    const stream = { name: 'items', table: 'items' } as Stream;
    try {
      await migrate(database, MEMORY_FILE);
      await database.run(
        `CREATE TABLE items AS SELECT '[{"by":{"ann@a.example":1}}]'::JSON AS votes, 'r' AS _run_id`,
      );
      await learnElements({ database, runId: 'r' }, stream);
      expect((await readElements(database, 'items')).get('votes')).toContain('ann@a.example');
      // The rows were cleared by then, and this sync brings them without the member.
      await database.run(`UPDATE items SET votes = '[{"n":1}]', _run_id = 's'`);
      const masked = { dropped: [], cleared: [], left: [] };
      await rememberMasks(database, stream, {
        masked,
        masks: 'votes.by',
        rehashed: [],
        remasked: [],
        retyped: [],
      });
      await learnElements({ database, runId: 's' }, stream);
      expect((await readElements(database, 'items')).get('votes')).not.toContain('ann');
    } finally {
      await database.release();
    }
  });
});

describe('arrays without an object', () => {
  it.each([
    ['[5,null,"x"]', true, false],
    ['[[]]', true, false],
    ['[12345678901234567890]', true, true],
    ['[null, null]', false, false],
    ['[]', false, false],
  ])('show in the view of the others what %s holds', async (array, hasOthers, needsExact) => {
    const database = await Database.open({ file: MEMORY_FILE, folders: [] });
    try {
      await migrate(database, MEMORY_FILE);
      await database.run('CREATE TABLE items (votes JSON, _run_id VARCHAR)');
      await database.run(`INSERT INTO items VALUES ('[{"a":1}]', 'r'), ($1, 'r')`, [array]);
      await learnElements({ database, runId: 'r' }, { name: 'items', table: 'items' });
      const learned = (await readElements(database, 'items')).get('votes') ?? '';
      expect(unpackElementFields([learned])).toMatchObject({ hasObjects: true, hasOthers, needsExact });
    } finally {
      await database.release();
    }
  });
});
