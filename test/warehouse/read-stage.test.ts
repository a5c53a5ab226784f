import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createFieldTree,
  isRecordObject,
  observeConstant,
  observeRecord,
} from '../../src/schema/observe-fields.ts';
import { resolveColumns } from '../../src/schema/resolve-columns.ts';
import { INCOMING } from '../../src/warehouse/incoming.ts';
import { projectStage } from '../../src/warehouse/project-stage.ts';
import { formatStagedLines } from '../../src/stage/staged-records.ts';
import {
  type HostileJson,
  hostileJson,
  hostileText,
  oddNames,
  oddNumbers,
  spelling,
  writeHostileJson,
} from '../support/hostile-rows.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';
import { toRecords } from './load-texts.ts';
import { countRuns } from '../support/seeds.ts';

interface Loaded {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rejected: number;
  /** The engine read every record by itself. */
  readonly isDirect: boolean;
}

/** Loads records into the incoming table, as a sync does or with a projection of each. */
async function load(
  { database, scratch }: TempDatabase,
  texts: readonly string[],
  how: 'as-planned' | 'projected',
): Promise<Loaded> {
  const file = join(scratch, 'records.ndjson');
  for (const suffix of ['', '.flat', '.rejected']) rmSync(`${file}${suffix}`, { force: true });
  const records = toRecords(texts);
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  const columns = resolveColumns(tree, [], () => false);
  writeFileSync(file, formatStagedLines(0, records));
  const { rejected } = await projectStage(database, file, columns, how === 'projected' ? {} : { tree });
  const rows = await database.all(`SELECT COLUMNS(*)::VARCHAR FROM ${INCOMING} ORDER BY _sluice_position`);
  return { rows, rejected: rejected.count, isDirect: !existsSync(`${file}.flat`) };
}

async function expectSameRows(opened: TempDatabase, texts: readonly string[]): Promise<boolean> {
  const { isDirect, ...planned } = await load(opened, texts, 'as-planned');
  const { isDirect: _, ...projected } = await load(opened, texts, 'projected');
  expect(planned).toEqual(projected);
  return isDirect;
}

const number = fc.oneof(
  { weight: 3, arbitrary: fc.integer().map(String) },
  { weight: 3, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('1.0', '-3.50', '0.00001', '1e3', '-0', ...oddNumbers) },
);
const instant = fc.tuple(
  fc.constantFrom('2024-02-29', '0001-01-01', '9999-12-31'),
  fc.constantFrom('T', ' '),
  fc.constantFrom('10:20', '23:59:59', '00:00:00.5', '01:02:03.123456', '01:02:03,5'),
  fc.constantFrom('', 'Z', 'z', '+02', '+0230', '-02:30', '+14:00'),
);
const names = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('a', 'b', 'c', '2', '10') },
  { weight: 1, arbitrary: fc.constantFrom(...oddNames) },
);
const scalar = (text: string): HostileJson => ({ scalar: text });
const text = (value: string): HostileJson => ({ scalar: { text: value } });
/** Values of one kind each, mostly spelt as an API spells them. */
const valuesOfField: Readonly<Record<string, fc.Arbitrary<HostileJson>>> = {
  flag: fc.boolean().map((value) => scalar(String(value))),
  count: fc.integer().map((value) => scalar(String(value))),
  pythonCount: fc.integer().map((value) => scalar(`${value}.0`)),
  amount: number.map(scalar),
  name: fc.oneof(fc.string().map(text), hostileText.map(text)),
  day: fc.constantFrom('2024-01-01', '1999-12-31', '0001-01-01').map(text),
  at: instant.map(([day, separator, time]) => text(`${day}${separator}${time}Z`)),
  localAt: instant.map(([day, separator, time]) => text(`${day}${separator}${time}`)),
  oddAt: instant.map((parts) => text(parts.join(''))),
  tags: fc.array(hostileJson(names, 2), { maxLength: 3 }).map((items) => ({ items })),
  meta: fc.tuple(fc.string(), fc.integer()).map(([model, score]) => ({
    members: [
      ['model', text(model)],
      ['score', scalar(String(score))],
    ],
  })),
  any: hostileJson(names, 2),
};
const fieldNames = Object.keys(valuesOfField);
const scan = fc.subarray(fieldNames, { minLength: 1 }).chain((fields) =>
  fc
    .array(
      fc.tuple(
        fc.tuple(
          ...fields.map((name) => fc.option(valuesOfField[name] ?? fc.constant(scalar('1')), { freq: 8 })),
        ),
        spelling,
        fc.nat({ max: 40 }),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map((records) =>
      records.map(([values, spelt, turn]) => {
        if (turn === 0) return '[1]';
        const members = values.map((value, at) => [fields[at] ?? '', value ?? scalar('null')] as const);
        return writeHostileJson({ members: turn === 1 ? [...members, ...members] : members }, spelt);
      }),
    ),
);

describe('a stage that the engine reads by itself', () => {
  it('gives the very rows that a projection of each record gives', async () => {
    const opened = await openTempDatabase();
    await fc.assert(
      fc.asyncProperty(scan, async (texts) => {
        await expectSameRows(opened, texts);
      }),
      { numRuns: countRuns(200) },
    );
  });

  it.each([
    [
      'usual records',
      ['{"id":"a","n":1,"x":1.5,"day":"2024-01-01","at":"2024-01-01T10:00:00Z","l":["é",1]}'],
      true,
    ],
    [
      'whole numbers of 64 bits, in arrays too',
      [
        '{"id":9007199254740993,"m":{"n":-9223372036854775808},"l":[9223372036854775807,{"a":-9007199254740993}]}',
        '{"id":1,"m":{"n":9223372036854775807},"l":[1]}',
      ],
      true,
    ],
    [
      'numbers with exponents',
      [
        '{"x":1.5e-07,"y":1E+25,"n":1e3,"l":[1.5e-7,{"a":-5e-324}]}',
        '{"x":0.5,"y":-2.5e+300,"n":9.007199254740991e15,"l":[2.2250738585072014e-308]}',
      ],
      true,
    ],
    [
      'larger whole numbers among them',
      ['{"n":9007199254740993,"m":1}', '{"n":18446744073709551616,"m":9007199254740993}'],
      false,
    ],
    [
      'whole numbers of 64 bits among decimals',
      ['{"n":9007199254740993,"m":1}', '{"n":1.5,"m":9007199254740993}'],
      false,
    ],
    [
      'nested objects and what is missing in them',
      ['{"m":{"a":1,"b":{"c":"x"}}}', '{"m":null}', '{"m":{"b":{}}}', '{}'],
      true,
    ],
    ['whole numbers written as fractions', ['{"n":1.0,"x":1.50}', '{"n":2.0,"x":2}'], true],
    ['escapes', ['{"s":"\\u00e9\\/\\n\\ud83d\\ude00","l":["\\u00e9\\/\\n\\ud83d\\ude00"]}'], true],
    ['offsets', ['{"at":"2024-01-01T10:00:00+05:30"}', '{"at":"2024-01-01 10:00:00.5-03"}'], true],
    ['a time that the cast does not know', ['{"at":"2024-01-01T10:00Z"}'], false],
    ['half a pair', ['{"s":"\\ud83d","n":1}', '{"s":"b","n":2}', '{"s":"c","n":2}'], false],
    ['a name that comes twice', ['{"n":1}', '{"n":1,"n":2}', '{"n":3}'], false],
    ['a minus zero', ['{"x":1.5}', '{"x":-0}', '{"x":2.5}'], false],
    ['numbers beyond a double', ['{"x":1.5}', '{"x":1.5}', '{"x":0.10000000000000000001}'], false],
    ['spellings of numbers in lists', ['{"l":[1.0]}', '{"l":[1]}', '{"l":[2]}'], false],
    ['members that are indexes, in lists', ['{"l":[{"b":1,"2":2}]}', '{"l":[1]}', '{"l":[2]}'], false],
    ['control characters in lists', ['{"l":["\\u001f"]}', '{"l":[1]}', '{"l":[2]}'], false],
    ['names that differ in case', ['{"a":1,"A":2}'], false],
    ['what is no object', ['1', 'null', '[]', '{"a":1}', '{"a":1}', '{"a":2}', '{"a":2}'], false],
    ['a record of 2 MB', [`{"s":"${'x'.repeat(2 ** 21)}"}`], false],
  ])('%s', async (_, texts, isDirect) => {
    expect(await expectSameRows(await openTempDatabase(), texts)).toBe(isDirect);
  });

  it.each([1, 50])('is projected where %i lines of an earlier stage are in it', async (oldLines) => {
    const { database, scratch } = await openTempDatabase();
    const file = join(scratch, 'records.ndjson');
    const texts = Array.from({ length: 60 }, (_, at) => `{"id":${at}}`);
    const records = toRecords(texts);
    const tree = createFieldTree();
    for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
    const old = texts.slice(0, oldLines).map((text, at) => `${at}p${text}\n`);
    writeFileSync(file, old.join('') + formatStagedLines(oldLines, records.slice(oldLines)));
    await projectStage(
      database,
      file,
      resolveColumns(tree, [], () => false),
      { tree },
    );
    const rows = await database.all(`SELECT _sluice_position AS at, id FROM ${INCOMING} ORDER BY ALL`);
    expect(rows.map(({ at, id }) => [Number(at), Number(id)])).toEqual(texts.map((_, at) => [at, at]));
  });

  it.each([
    ['acme', true],
    ['2024-01-31', true],
    ["o'neil 😀", true],
    [7, true],
    [true, true],
    [1.5, false],
    ['2024-01-01T10:00Z', false],
    ['a\u0000b', false],
  ])('gives every record the constant %j', async (value, isDirect) => {
    const { database, scratch } = await openTempDatabase();
    const file = join(scratch, 'records.ndjson');
    const records = toRecords(['{"id":1}', '{"id":2}', '{"id":-0}', '{"id":4}', '[1]']);
    const results = [];
    for (const how of ['planned', 'projected'] as const) {
      const tree = createFieldTree();
      for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
      observeConstant(tree, 'entity', value);
      const columns = resolveColumns(tree, [], () => false);
      writeFileSync(file, formatStagedLines(0, isDirect ? records.slice(0, 2) : records));
      const hold = (given: unknown) =>
        isRecordObject(given)
          ? { value: { entity: value, ...given } }
          : { value: undefined, reason: 'no object', path: '' };
      const planned = how === 'planned' ? { tree, constants: { entity: value } } : {};
      rmSync(`${file}.flat`, { force: true });
      const { rejected } = await projectStage(database, file, columns, { hold, ...planned });
      if (how === 'planned') expect(existsSync(`${file}.flat`)).toBe(!isDirect);
      const rows = await database.all(
        `SELECT COLUMNS(*)::VARCHAR FROM ${INCOMING} ORDER BY _sluice_position`,
      );
      results.push({ rows, rejected: rejected.count });
    }
    expect(results[0]).toEqual(results[1]);
    expect(results[0]?.rows).toHaveLength(isDirect ? 2 : 4);
  });

  it('leaves the odd ones among many to the projection', async () => {
    const opened = await openTempDatabase();
    const texts = Array.from(
      { length: 500 },
      (_, at) => `{"id":${at},"x":${at % 100 === 7 ? '-0' : at / 8}}`,
    );
    expect(await expectSameRows(opened, texts)).toBe(false);
    const [row] = await opened.database.all(
      `SELECT count(*) AS n, count(DISTINCT id) AS ids FROM ${INCOMING}`,
    );
    expect([Number(row?.['n']), Number(row?.['ids'])]).toEqual([500, 500]);
  });
});
