import { describe, expect, it, vi } from 'vitest';
import { chooseCursorCandidate, proposeKeys } from '../../src/schema/key-candidates.ts';
import { countDuplicates, countMissingKeys, findKey } from '../../src/warehouse/find-key.ts';
import { INCOMING } from '../../src/warehouse/incoming.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';
import { projectTexts } from './load-texts.ts';

type Shape = Readonly<Record<string, unknown>>;

/** The key found for records, by the columns a load would give them. */
async function learnKey(
  opened: TempDatabase,
  records: readonly Shape[],
): Promise<{ readonly key: readonly string[] | undefined; readonly cursor: string | undefined }> {
  const { columns } = await projectTexts(
    records.map((record) => JSON.stringify(record)),
    opened,
  );
  const candidates = columns
    .filter(({ type }) => type !== 'NULL')
    .map(({ path, name, type }) => {
      const values = records.map((record) =>
        path.reduce<unknown>((part, field) => (part as Shape | null)?.[field], record),
      );
      return {
        name,
        type,
        alwaysFilled: values.every((value) => value !== undefined && value !== null),
        longestText: Math.max(0, ...values.map((value) => (typeof value === 'string' ? value.length : 0))),
      };
    });
  const cursor = chooseCursorCandidate(candidates);
  return { key: await findKey(opened.database, proposeKeys(candidates, cursor)), cursor };
}

function day(at: number): string {
  return new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10);
}

function repeat(count: number, make: (at: number) => Shape): readonly Shape[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

describe('findKey', () => {
  it.each<readonly [string, readonly Shape[], readonly string[]]>([
    [
      'one row a prompt and day',
      repeat(60, (at) => ({
        promptId: `p${at % 20}`,
        date: day(Math.floor(at / 20)),
        visibility: at / 7,
        mentions: at * 31,
        updatedAt: `2026-02-01T00:00:${String(at).padStart(2, '0')}Z`,
      })),
      ['date', 'prompt_id'],
    ],
    [
      'one row an entity, platform and day',
      repeat(60, (at) => ({
        score: at / 3,
        platform: ['chat', 'search', 'voice'][at % 3],
        entity: `e${Math.floor(at / 3) % 5}`,
        date: day(Math.floor(at / 15)),
      })),
      ['date', 'platform', 'entity'],
    ],
    [
      'events with an id and a time',
      repeat(40, (at) => ({
        id: at,
        text: `unique text ${at}`,
        createdAt: `2026-01-01T00:${String(at).padStart(2, '0')}:00Z`,
      })),
      ['created_at'],
    ],
    [
      'ranked products of a category',
      repeat(50, (at) => ({
        category: `c${at % 10}`,
        rank: Math.floor(at / 10) + 1,
        price: at / 9,
        title: `t${at}`,
      })),
      ['category', 'rank'],
    ],
    ['a nested id', repeat(30, (at) => ({ meta: { id: `m${at}` }, value: at })), ['meta__id']],
    ['a date alone', repeat(30, (at) => ({ date: day(at), total: 5 })), ['date']],
    [
      'columns named like those of the search',
      repeat(30, (at) => ({ n: `n${at % 6}`, d0: `d${Math.floor(at / 6)}`, change: 'x' })),
      ['n', 'd0'],
    ],
  ])('finds the key of %s', async (_, records, expected) => {
    const opened = await openTempDatabase();
    const { key, cursor } = await learnKey(opened, records);
    expect(key?.toSorted()).toEqual(expected.toSorted());
    if (cursor !== undefined) expect(key?.[0]).toBe(cursor);
  });

  it.each<readonly [string, readonly Shape[]]>([
    ['floats', repeat(30, (at) => ({ score: at + 0.5 }))],
    ['counts', repeat(30, (at) => ({ mentions: at, clicks: at * 2 }))],
    ['free text', repeat(30, (at) => ({ answer: `answer ${at}`, title: `title ${at}` }))],
    ['long text', repeat(30, (at) => ({ name: `${at}${'x'.repeat(200)}` }))],
    ['times of last change', repeat(30, (at) => ({ updatedAt: day(at), lastSeen: day(at) }))],
    ['a field that some rows lack', repeat(30, (at) => (at === 7 ? { v: 1 } : { id: at, v: 1 }))],
    ['equal rows', repeat(30, () => ({ id: 1, date: '2026-01-01' }))],
  ])('finds none in %s', async (_, records) => {
    const opened = await openTempDatabase();
    expect((await learnKey(opened, records)).key).toBeUndefined();
  });

  it('learns nothing from no row and from one', async () => {
    const opened = await openTempDatabase();
    expect((await learnKey(opened, [])).key).toBeUndefined();
    expect((await learnKey(opened, [{ id: 1, date: '2026-01-01' }])).key).toBeUndefined();
    expect((await learnKey(opened, [{ id: 1 }, { id: 2 }])).key).toEqual(['id']);
  });

  it('proves a key on all rows, not on the sample', async () => {
    const { database } = await openTempDatabase();
    await database.run(`CREATE TEMP TABLE "~incoming" AS
      SELECT i AS _sluice_position, i % 20500 AS a_id, i AS b_id FROM range(21000) t(i)`);
    expect(await findKey(database, [['a_id'], ['b_id']])).toEqual(['b_id']);
    expect(await findKey(database, [['a_id']])).toBeUndefined();
  });

  it('asks no set of twelve candidates when all of them together do not help', async () => {
    const { database } = await openTempDatabase();
    const names = Array.from({ length: 12 }, (_, at) => `part${at}_id`);
    const columns = names.map((name, at) => `i % ${at + 2} AS ${name}`).join(', ');
    await database.run(
      `CREATE TEMP TABLE "~incoming" AS SELECT i AS _sluice_position, ${columns} FROM (SELECT i // 2 AS i FROM range(40000) t(i))`,
    );
    const candidates = names.map((name) => ({
      name,
      type: 'BIGINT' as const,
      alwaysFilled: true,
      longestText: 0,
    }));
    const all = vi.spyOn(database, 'all');
    const proposals = proposeKeys(candidates, undefined);
    expect(proposals.length).toBeGreaterThan(700);
    expect(await findKey(database, proposals)).toBeUndefined();
    // The rows, and the twelve columns together.
    expect(all).toHaveBeenCalledTimes(2);
  });
});

describe('counting', () => {
  it('counts the rows beyond the first of each key, and those without one', async () => {
    const opened = await openTempDatabase();
    await projectTexts(
      ['{"n":1,"id":1}', '{"n":1,"id":2}', '{"n":1,"id":2}', '{"n":null,"id":2}', '{"id":2}'],
      opened,
    );
    expect(await countDuplicates(opened.database, INCOMING, ['n'])).toBe(3);
    expect(await countDuplicates(opened.database, INCOMING, ['id', 'n'])).toBe(2);
    expect(await countMissingKeys(opened.database, INCOMING, [['id']])).toBe(0);
    expect(await countMissingKeys(opened.database, INCOMING, [['n'], ['id']])).toBe(2);
    // A value may be in either of two columns.
    expect(await countMissingKeys(opened.database, INCOMING, [['n', 'id']])).toBe(0);
  });
});
