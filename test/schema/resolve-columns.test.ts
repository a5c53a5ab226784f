import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../src/json/exact-number.ts';
import type { ColumnType } from '../../src/model/schema.ts';
import type { LearnedColumn } from '../../src/model/stream.ts';
import { listSeenTypes } from '../../src/load/seen-types.ts';
import {
  createFieldTree,
  type FieldTree,
  MAX_NESTED_FIELDS,
  observeRecord,
} from '../../src/schema/observe-fields.ts';
import { type CanCast, type ColumnPlan, resolveColumns } from '../../src/schema/resolve-columns.ts';
import { hostileJson, hostileObject, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

const always: CanCast = () => true;
const never: CanCast = () => false;

function observe(records: readonly string[]): FieldTree {
  const tree = createFieldTree();
  for (const record of records) observeRecord(tree, parseExact(record) as Record<string, unknown>);
  return tree;
}

function resolve(
  records: readonly string[],
  existing: readonly LearnedColumn[] = [],
  canCast = always,
): readonly ColumnPlan[] {
  return resolveColumns(observe(records), existing, canCast);
}

/** What is learned from a scan of these records, by what was learned before. */
function load(records: readonly string[], learned: readonly LearnedColumn[]): readonly LearnedColumn[] {
  const columns = resolve(records, learned);
  const seen = listSeenTypes(columns, observe(records), learned, true);
  return columns.map(({ path, name, type }) => ({ path, name, type, jsonTypes: seen.get(name) }));
}

/** Columns as `name: type`, in table order. */
function show(columns: readonly ColumnPlan[]): Readonly<Record<string, ColumnType>> {
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]));
}

function learn(columns: readonly ColumnPlan[]): readonly LearnedColumn[] {
  return columns.map(({ path, name, type }) => ({ path, name, type }));
}

const names = fc.oneof(fc.constantFrom('a', 'b', 'ID', 'id'), fc.constantFrom(...oddNames));
const record = fc
  .tuple(hostileObject(names, hostileJson(names, 3), 6), spelling)
  .map(([value, spelt]) => writeHostileJson(value, spelt));
const records = fc.array(record, { maxLength: 8 });
const shuffled = records.chain((list) =>
  fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
);

describe('resolveColumns', () => {
  it('gives one schema for any order of the records', () => {
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        expect(resolve(other)).toEqual(resolve(list));
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('gives one schema for any order of a later scan, over whatever the table has', () => {
    fc.assert(
      fc.property(records, shuffled, fc.boolean(), (first, [list, other], castable) => {
        const existing = learn(resolve(first));
        const canCast = castable ? always : never;
        expect(resolve(other, existing, canCast)).toEqual(resolve(list, existing, canCast));
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('changes nothing when the same records come again, and keeps every column whatever comes', () => {
    fc.assert(
      fc.property(records, records, (first, second) => {
        const existing = learn(resolve(first));
        expect(learn(resolve(first, existing, never))).toEqual(existing);
        const later = resolve(second, existing, never);
        expect(later.slice(0, existing.length).map(({ name }) => name)).toEqual(
          existing.map(({ name }) => name),
        );
        for (const [at, { existingType }] of later.entries()) expect(existingType).toBe(existing[at]?.type);
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('gives the values of a scan the same places when it comes again, whatever came before', () => {
    fc.assert(
      fc.property(records, records, (first, second) => {
        const before = load(first, []);
        const place = (learned: readonly LearnedColumn[]) =>
          resolve(second, learned).map(({ name, takes, isBesideMembers }) => ({
            name,
            takes,
            isBesideMembers,
          }));
        expect(place(load(second, before))).toEqual(place(before));
      }),
      { numRuns: countRuns(2_000) },
    );
  });

  it('keeps the members of objects in their columns where something else comes beside them', () => {
    const objects = load(['{"v":{"a":1}}'], []);
    for (const other of ['{"v":[1]}', '{"v":"x"}', '{"v":1.5}']) {
      const mixed = load(['{"v":{"a":1}}', other], objects);
      const alone = load([other], objects);
      for (const learned of [mixed, alone]) {
        const [member, own] = resolve(['{"v":{"a":2}}', other], learned);
        expect([member?.name, own?.name, own?.isBesideMembers]).toEqual(['v__a', 'v', true]);
      }
    }
    // A map is stored whole, also when fewer names of it come.
    const map = load([`{"v":{${Array.from({ length: 300 }, (_, at) => `"k${at}":1`).join(',')}}}`], objects);
    expect(resolve(['{"v":{"a":2}}'], map).find(({ name }) => name === 'v')?.isBesideMembers).toBeUndefined();
  });

  it('keeps the order people wrote, new columns at the end', () => {
    const columns = resolve(['{"id":1,"name":"a","meta":{"x":1,"y":2},"tags":[]}', '{"id":1,"extra":1}']);
    expect(Object.keys(show(columns))).toEqual(['id', 'extra', 'name', 'meta__x', 'meta__y', 'tags']);
    const later = resolve(['{"new":1,"id":1}'], learn(columns));
    expect(Object.keys(show(later)).at(-1)).toBe('new');
    expect(Object.keys(show(later))[0]).toBe('id');
  });

  it('flattens objects to the sixth level and keeps deeper ones as JSON', () => {
    const deep = '{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}';
    expect(show(resolve([deep]))).toEqual({ a__b__c__d__e__f: 'JSON' });
    expect(show(resolve(['{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}']))).toEqual({
      a__b__c__d__e__f: 'BIGINT',
    });
  });

  it(`keeps a nested object with more than ${MAX_NESTED_FIELDS} names as JSON, over one record or many`, () => {
    const one = (from: number, to: number) =>
      `{"map":{${Array.from({ length: to - from }, (_, at) => `"k${from + at}":1`).join(',')}}}`;
    expect(resolve([one(0, 250)])).toHaveLength(250);
    expect(show(resolve([one(0, 251)]))).toEqual({ map: 'JSON' });
    expect(show(resolve([one(0, 200), one(100, 300)]))).toEqual({ map: 'JSON' });
    expect(show(resolve([one(100, 300), one(0, 200)]))).toEqual({ map: 'JSON' });
  });

  it('keeps a map as JSON once it was one, and next to the columns it had before', () => {
    const map = (size: number) =>
      `{"map":{${Array.from({ length: size }, (_, at) => `"k${at}":1`).join(',')}}}`;
    expect(show(resolve(['{"map":{"a":1}}'], learn(resolve([map(300)]))))).toEqual({ map: 'JSON' });
    const grown = resolve([map(300)], learn(resolve([map(2)])));
    expect(show(grown)).toEqual({ map__k0: 'BIGINT', map__k1: 'BIGINT', map: 'JSON' });
  });

  it('has columns for 5,000 fields', () => {
    const wide = `{${Array.from({ length: 5_000 }, (_, at) => `"field${at}":${at}`).join(',')}}`;
    const columns = resolve([wide]);
    expect(columns).toHaveLength(5_000);
    expect(columns[4_999]).toMatchObject({ name: 'field4999', type: 'BIGINT' });
  });

  it('keeps a field that is an object here and something else there as JSON', () => {
    expect(show(resolve(['{"v":{"a":1}}', '{"v":5}']))).toEqual({ v: 'JSON' });
    expect(show(resolve(['{"v":{"a":1}}', '{"v":[1]}']))).toEqual({ v: 'JSON' });
    expect(show(resolve(['{"v":{"a":1}}', '{"v":null}']))).toEqual({ v__a: 'BIGINT' });
    expect(show(resolve(['{"v":{}}', '{"v":{"a":1}}']))).toEqual({ v__a: 'BIGINT' });
  });

  it('remembers a field of nulls and gives it the type of its first value', () => {
    const nulls = resolve(['{"id":1,"v":null}']);
    expect(show(nulls)).toEqual({ id: 'BIGINT', v: 'NULL' });
    const [, v] = resolve(['{"v":"2024-01-01"}'], learn(nulls));
    expect(v).toMatchObject({ name: 'v', type: 'DATE', existingType: 'NULL', companion: false });
  });

  it('keeps a column whose field vanished', () => {
    const first = resolve(['{"id":1,"gone":"x"}']);
    expect(show(resolve(['{"id":2}'], learn(first)))).toEqual({ id: 'BIGINT', gone: 'VARCHAR' });
  });
});

describe('a column that exists', () => {
  const withColumn = (type: ColumnType): readonly LearnedColumn[] => [{ path: ['v'], name: 'v', type }];

  it.each([
    ['BIGINT', '9223372036854775808', 'HUGEINT'],
    ['BIGINT', '0.5', 'DOUBLE'],
    ['BIGINT', '123456789.123456789', 'DECIMAL(38,9)'],
    ['BIGINT', '"x"', 'VARCHAR'],
    ['HUGEINT', '"x"', 'VARCHAR'],
    ['BOOLEAN', '1', 'VARCHAR'],
    ['DATE', '"2024-01-01T00:00:00Z"', 'VARCHAR'],
    ['DECIMAL(38,9)', '0.12345678901234567', 'DECIMAL(38,17)'],
  ] as const)('of %s that meets %s becomes %s when its values allow', (type, value, wanted) => {
    expect(show(resolve([`{"v":${value}}`], withColumn(type)))).toEqual({ v: wanted });
  });

  it.each([
    ['BIGINT', '0.5'],
    ['BIGINT', '"x"'],
    ['BOOLEAN', '1'],
    ['DECIMAL(38,9)', '0.12345678901234567'],
  ] as const)('of %s that meets %s gets a companion when they do not', (type, value) => {
    const columns = resolve([`{"v":${value}}`], withColumn(type), never);
    expect(show(columns)).toEqual({ v: type, v__text: 'VARCHAR' });
  });

  it.each([
    ['DOUBLE', '9007199254740993'],
    ['DOUBLE', '"x"'],
    ['DECIMAL(38,9)', '0.5'],
    ['DECIMAL(38,9)', '"x"'],
    ['TIMESTAMPTZ', '"2024-01-01"'],
    ['TIMESTAMP', '"soon"'],
    ['BIGINT', '[1]'],
    ['DATE', '{}'],
  ] as const)('of %s that meets %s always gets a companion', (type, value) => {
    const columns = resolve([`{"v":${value}}`], withColumn(type), always);
    expect(show(columns)).toEqual({ v: type, v__text: 'VARCHAR' });
    expect(columns.map(({ existingType, companion }) => [existingType, companion])).toEqual([
      [type, false],
      [undefined, true],
    ]);
  });

  it('keeps its one companion when more comes that it cannot hold', () => {
    const first = resolve(['{"v":"x"}'], withColumn('DOUBLE'));
    const second = resolve(['{"v":"y"}'], learn(first));
    expect(second.map(({ name, existingType, companion }) => [name, existingType, companion])).toEqual([
      ['v', 'DOUBLE', false],
      ['v__text', 'VARCHAR', true],
    ]);
    const third = resolve(['{"v":1}'], learn(second));
    expect(third.map(({ name, type }) => [name, type])).toEqual([
      ['v', 'DOUBLE'],
      ['v__text', 'VARCHAR'],
    ]);
  });

  it('shares the value kinds with its companion: each goes to one of the two', () => {
    const [main, companion] = resolve(['{"v":"x"}'], withColumn('DOUBLE'));
    expect((main?.takes ?? 0) & (companion?.takes ?? 0)).toBe(0);
  });

  it('of scalars stays one when objects come: their members get columns', () => {
    expect(show(resolve(['{"v":{"a":1}}'], withColumn('BIGINT')))).toEqual({ v: 'BIGINT', v__a: 'BIGINT' });
  });

  it('of JSON takes objects whole', () => {
    expect(show(resolve(['{"v":{"a":1}}'], withColumn('JSON')))).toEqual({ v: 'JSON' });
  });

  it('below a flattened object stays when a scalar comes in its place', () => {
    const first = learn(resolve(['{"v":{"a":1}}']));
    expect(show(resolve(['{"v":5}', '{"v":{"a":2}}'], first))).toEqual({ v__a: 'BIGINT', v: 'BIGINT' });
  });

  it('does not take the name of a field that is called like its companion', () => {
    const columns = resolve(['{"v":"x","v__text":1}'], withColumn('DOUBLE'));
    expect(show(columns)).toEqual({
      v: 'DOUBLE',
      v__text: 'BIGINT',
      [columns.find(({ companion }) => companion)?.name ?? '']: 'VARCHAR',
    });
    expect(columns.find(({ companion }) => companion)?.name).toMatch(/^v__text_[0-9a-f]{6}$/);
  });
});
