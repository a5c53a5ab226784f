import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyString } from '../../src/schema/classify-time.ts';
import { Kind } from '../../src/schema/field-kinds.ts';
import {
  type HostileJson,
  hostileJson,
  hostileObject,
  hostileText,
  oddNames,
  oddNumbers,
  oddStrings,
  spelling,
  writeHostileJson,
} from '../support/hostile-rows.ts';
import { loadRejected, REJECTED } from '../../src/warehouse/rejected-records.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';
import { expectRowOf, readCells, readMicroseconds } from './expect-cells.ts';
import { type LoadedTable, loadTexts } from './load-texts.ts';

const ROW = 'row number';

/** The record with its number as its first field; the last of two fields of one name counts, as in any record. */
function number(record: HostileJson, at: number): HostileJson {
  const members = 'members' in record ? record.members : [];
  return { members: [...members, [ROW, { scalar: String(at) }]] };
}

async function loadScans(
  { database, scratch }: TempDatabase,
  scans: readonly (readonly string[])[],
): Promise<LoadedTable | undefined> {
  await database.run('DROP TABLE IF EXISTS main.rows');
  let before: LoadedTable | undefined;
  for (const texts of scans) before = await loadTexts(texts, { database, scratch, before });
  return before;
}

/** Loads the scans one after the other and holds every row of the table against its record. */
async function expectLossless(
  opened: TempDatabase,
  scans: readonly (readonly string[])[],
): Promise<LoadedTable> {
  const table = await loadScans(opened, scans);
  if (table === undefined) throw new Error('no scan');
  const rowColumn = table.columns.find(({ path }) => path.join() === ROW)?.name ?? '';
  const rows = await readCells(opened.database, table.columns, `"${rowColumn}"`);
  const texts = scans.flat();
  expect(rows.length).toBe(texts.length);
  for (const [at, text] of texts.entries()) expectRowOf(text, rows[at] ?? new Map(), table.columns);
  return table;
}

function asScans(values: readonly (readonly string[])[]): readonly (readonly string[])[] {
  let at = 0;
  return values.map((scan) => scan.map((value) => `{"${ROW}":${at++},"v":${value}}`));
}

describe('loading records', () => {
  it('keeps every value of any records exactly, over one scan or several', async () => {
    const opened = await openTempDatabase();
    // Few names, so that one field holds many kinds of value.
    const names = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'ID', 'id', 'length', 'text') },
      { weight: 1, arbitrary: fc.constantFrom(...oddNames) },
    );
    const record = hostileObject(names, hostileJson(names, 2), 5);
    const scan = fc.array(fc.tuple(record, spelling), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(scan, { minLength: 1, maxLength: 3 }), async (scans) => {
        let at = 0;
        const texts = scans.map((scan) =>
          scan.map(([record, spelt]) => writeHostileJson(number(record, at++), spelt)),
        );
        await expectLossless(opened, texts);
      }),
      { numRuns: countRuns(20) },
    );
  });

  it('keeps every value of a field whose kind changes from scan to scan', async () => {
    const opened = await openTempDatabase();
    const scalar = fc.oneof(
      fc.constantFrom(...oddNumbers),
      fc.constantFrom(...oddNumbers, 'true', 'null', '[1]', '{}', '{"a":1}', '[9007199254740993]'),
      fc.constantFrom(...oddStrings).map((text) => JSON.stringify(text)),
    );
    const scan = fc.array(scalar, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(scan, { minLength: 2, maxLength: 4 }), async (scans) => {
        await expectLossless(opened, asScans(scans));
      }),
      { numRuns: countRuns(20) },
    );
  });

  it('keeps each odd number in a column of its own type', async () => {
    const opened = await openTempDatabase();
    const record = `{"${ROW}":0,${oddNumbers.map((text, at) => `"n${at}":${text}`).join(',')}}`;
    const { columns } = await expectLossless(opened, [[record]]);
    const types = new Map(
      columns.map(({ path, type }) => [oddNumbers[Number((path[0] ?? '').slice(1))], type]),
    );
    expect(types.get('9007199254740993')).toBe('BIGINT');
    expect(types.get('18446744073709551616')).toBe('HUGEINT');
    expect(types.get('170141183460469231731687303715884105728')).toBe('VARCHAR');
    expect(types.get('3.14159265358979323846264338327')).toBe('DECIMAL(38,29)');
    expect(types.get('-0')).toBe('DOUBLE');
  });

  it('keeps each odd string, with NUL, and half characters as U+FFFD', async () => {
    const opened = await openTempDatabase();
    const texts = oddStrings.map(
      (text, at) => `{"${ROW}":${at},"v":${JSON.stringify(text)},"l":[${JSON.stringify(text)}]}`,
    );
    await expectLossless(opened, [texts]);
    const { database } = opened;
    const [nul] = await database.all(
      `SELECT v, length(v) AS n FROM main.rows WHERE contains(v, 'a' || chr(0))`,
    );
    expect(nul).toEqual({ v: 'a\u0000b', n: 3n });
    const [half] = await database.all(`SELECT v FROM main.rows WHERE starts_with(v, 'x')`);
    expect(half).toEqual({ v: 'x\ufffdy\ufffd' });
  });

  it('keeps all odd names apart, as columns and inside JSON', async () => {
    const opened = await openTempDatabase();
    const members = oddNames.map((name, at) => `${JSON.stringify(name)}:${at}`).join(',');
    const record = `{"${ROW}":0,${members},"nested":[{${members}}]}`;
    // A second scan goes over remembered names.
    await expectLossless(opened, [[record], [record.replace(`"${ROW}":0`, `"${ROW}":1`)]]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('does not take an array or a long number for an object', async () => {
    const opened = await openTempDatabase();
    const objects = '{"length":7,"text":"t","0":"zero","a":1}';
    await expectLossless(opened, asScans([[objects], ['[1,2,3]', '9007199254740993', '[]', objects]]));
  });

  it('keeps integers beyond 64 bits in a column of decimals', async () => {
    const opened = await openTempDatabase();
    const { columns } = await expectLossless(
      opened,
      asScans([['123456789.123456789', '12345678901234567890']]),
    );
    expect(columns.map(({ type }) => type)).toEqual(['BIGINT', 'DECIMAL(38,9)']);
  });

  it('gives decimals that a column has no room for to its companion, unrounded', async () => {
    const opened = await openTempDatabase();
    const { columns } = await expectLossless(
      opened,
      asScans([
        ['12345678901234567890123456789.123456789'],
        ['0.12345678901234567890123', '5', '1.123456789'],
        ['12345678901234567890123456789012345678', '0.5', '"x"'],
      ]),
    );
    expect(columns.map(({ name, type }) => [name, type])).toEqual([
      ['row_number', 'BIGINT'],
      ['v', 'DECIMAL(38,9)'],
      ['v__text', 'VARCHAR'],
    ]);
  });

  it('widens a column in every exact direction and rewrites no value', async () => {
    const opened = await openTempDatabase();
    const widenings: readonly (readonly [string, string, string])[] = [
      ['1', '9223372036854775808', 'HUGEINT'],
      ['1', '0.5', 'DOUBLE'],
      ['1', '123456789.123456789', 'DECIMAL(38,9)'],
      ['1', '"x"', 'VARCHAR'],
      ['true', '"x"', 'VARCHAR'],
      ['9223372036854775808', '"x"', 'VARCHAR'],
      ['123456789.123456789', '0.123456789123456789', 'DECIMAL(38,18)'],
      ['"2024-01-01"', '"x"', 'VARCHAR'],
      ['null', '"2024-01-01"', 'DATE'],
    ];
    for (const [first, second, type] of widenings) {
      const { columns, changes } = await expectLossless(opened, asScans([[first], [second]]));
      expect(columns[1]).toMatchObject({ name: 'v', type });
      expect(changes.map(({ column, change }) => [column, change])).toEqual([
        ['v', first === 'null' ? 'added' : 'widened'],
      ]);
    }
  });

  it('adds <column>__text where a cast would change what the column holds', async () => {
    const opened = await openTempDatabase();
    const additions = [
      ['9007199254740993', '0.5'],
      ['0.5', '"x"'],
      ['0.5', '9007199254740993'],
      ['"2024-01-01T00:00:00Z"', '"x"'],
      ['"2024-01-01T00:00:00"', '"2024-01-01"'],
      ['12345678901234567890123456789.123456789', '0.123456789123456789'],
      ['1', '[1]'],
    ] as const;
    for (const scans of additions) {
      const table = await expectLossless(opened, asScans(scans.map((value) => [value])));
      expect(table.columns.map(({ name }) => name)).toEqual(['row_number', 'v', 'v__text']);
      // Again, when the companion is there: as new rows, since they are numbered again.
      await loadTexts([`{"${ROW}":9,"v":${scans[1]}}`], { ...opened, before: table });
      expect(await opened.database.count('SELECT count(v__text) FROM main.rows')).toBe(2);
    }
  });

  it('loads 1,000 columns, changes a row of them and finds the others unchanged', async () => {
    const opened = await openTempDatabase();
    const wide = (row: number, first: string) =>
      `{"${ROW}":${row},"first":${first},${Array.from({ length: 1_000 }, (_, at) => `"f${at}":${at}`).join(',')}}`;
    const before = await loadTexts([wide(0, '1'), wide(1, '1')], {
      ...opened,
      merge: { key: ['row_number'] },
    });
    const after = await loadTexts([wide(0, '1'), wide(1, '2')], {
      ...opened,
      before,
      merge: { key: ['row_number'], runId: 'run-2' },
    });
    expect(after.counts).toEqual({ inserted: 0, updated: 1, unchanged: 1, deleted: 0, markedGone: 0 });
    expect(await opened.database.all('SELECT first, f999 FROM main.rows ORDER BY row_number')).toEqual([
      { first: 1n, f999: 999n },
      { first: 2n, f999: 999n },
    ]);
  });

  it('loads a record of 20 MB', async () => {
    const opened = await openTempDatabase();
    const text = 'é'.repeat(10 * 2 ** 20);
    await loadTexts([`{"a":1,"v":"${text}"}`, '{"a":2,"v":""}'], opened);
    expect(await opened.database.all('SELECT strlen(v) AS bytes FROM main.rows ORDER BY a')).toEqual([
      { bytes: BigInt(20 * 2 ** 20) },
      { bytes: 0n },
    ]);
  });

  it('hands back what is not an object, with its position and text', async () => {
    const opened = await openTempDatabase();
    const { rejected, counts } = await loadTexts(
      ['{"a":1}', 'null', '[ 1 ]', '9007199254740993', '{}'],
      opened,
    );
    expect(rejected).toMatchObject({ count: 3, first: { position: 1, path: '' } });
    await loadRejected(opened.database, rejected);
    expect(await opened.database.all(`SELECT page_offset, record FROM ${REJECTED} ORDER BY 1`)).toEqual([
      { page_offset: 1n, record: 'null' },
      { page_offset: 2n, record: '[ 1 ]' },
      { page_offset: 3n, record: '9007199254740993' },
    ]);
    expect(counts.inserted).toBe(2);
  });
});

describe('dates and timestamps', () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'));
  const time = fc.tuple(two(23), two(59)).map(([hour, minute]) => `${hour}:${minute}`);
  const seconds = fc.oneof(
    fc.constant(''),
    two(59).map((second) => `:${second}`),
    fc
      .tuple(two(59), fc.constantFrom('.', ','), fc.stringMatching(/^\d{1,6}$/))
      .map(([second, point, fraction]) => `:${second}${point}${fraction}`),
  );
  const zone = fc.oneof(
    fc.constant(''),
    fc.constantFrom('Z', 'z', '+00', '-00:00', '+0000', '+14', '-14:59'),
    fc
      .tuple(fc.constantFrom('+', '-'), two(14), fc.constantFrom('', ':'), two(59))
      .map(([sign, hour, colon, minute]) => `${sign}${hour}${colon}${minute}`),
  );
  const day = fc
    .date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T00:00:00Z'),
      noInvalidDate: true,
    })
    .map((date) => date.toISOString().slice(0, 10));
  const timestamp = fc
    .tuple(day, fc.constantFrom('T', ' '), time, seconds, zone)
    .map(([day, separator, time, seconds, zone]) => `${day}${separator}${time}${seconds}${zone}`);

  it('of every spelling that is recognised become the very instant', async () => {
    const opened = await openTempDatabase();
    const seen = new Map<string, number>();
    const values = fc.array(fc.oneof(day, timestamp), { minLength: 40, maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(values, async (values) => {
        // A column for each kind, since a mixture is text.
        const texts = values.map((value) => `{"${columnOf(value)}":"${value}"}`);
        await loadScans(opened, [texts]);
        for (const name of new Set(values.map(columnOf))) {
          const own = values.filter((value) => columnOf(value) === name);
          seen.set(name, (seen.get(name) ?? 0) + own.length);
          const rows = await opened.database.all(
            `SELECT CAST(epoch_us(${name}::TIMESTAMP) AS VARCHAR) AS us FROM main.rows WHERE ${name} IS NOT NULL`,
          );
          const instants = own.map((value) =>
            String(readMicroseconds(value.length === 10 ? `${value}T00:00` : value)),
          );
          expect(rows.map(({ us }) => us).toSorted()).toEqual(instants.toSorted());
        }
      }),
      { numRuns: countRuns(20) },
    );
    // Nothing was judged by an oracle that saw nothing.
    expect([...seen.keys()].toSorted()).toEqual(['day', 'local', 'zoned']);
    expect(Math.min(...seen.values())).toBeGreaterThan(leastSeen(40));
  });

  function columnOf(value: string): string {
    switch (classifyString(value)) {
      case Kind.date:
        return 'day';
      case Kind.timestampWithZone:
        return 'zoned';
      case Kind.timestampWithoutZone:
        return 'local';
      default:
        throw new Error(`${value} is not recognised`);
    }
  }

  it('are read by an oracle that agrees with Date', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(-6e13), max: new Date(2.5e14), noInvalidDate: true }), (date) => {
        expect(readMicroseconds(date.toISOString())).toBe(BigInt(date.getTime()) * 1_000n);
      }),
    );
    expect(readMicroseconds('2024-01-01T01:30:00+01:30')).toBe(1_704_067_200_000_000n);
  });

  it('have the type their values ask for', async () => {
    const opened = await openTempDatabase();
    const fields = {
      day: '"2024-02-29"',
      at: '"2024-01-01T10:00:00+02:00"',
      local: '"2024-01-01 10:00"',
      zip: '"00123"',
      none: '"2024-02-30"',
      uuid: '"c56a4180-65aa-42ec-a945-5fd21dec0538"',
      time: '"12:30"',
      mixed: '"2024-01-01"',
    };
    const record = `{${Object.entries(fields)
      .map(([name, value]) => `"${name}":${value}`)
      .join(',')}}`;
    const { columns } = await loadTexts([record, '{"mixed":"later"}'], opened);
    expect(columns.map(({ name, type }) => [name, type])).toEqual([
      ['day', 'DATE'],
      ['mixed', 'VARCHAR'],
      ['at', 'TIMESTAMPTZ'],
      ['local', 'TIMESTAMP'],
      ['zip', 'VARCHAR'],
      ['none', 'VARCHAR'],
      ['uuid', 'VARCHAR'],
      ['time', 'VARCHAR'],
    ]);
    const [row] = await opened.database.all(
      `SELECT zip, "none", uuid, "time", "at" FROM main.rows WHERE day IS NOT NULL`,
    );
    expect(row).toEqual({
      zip: '00123',
      none: '2024-02-30',
      uuid: 'c56a4180-65aa-42ec-a945-5fd21dec0538',
      time: '12:30',
      at: new Date('2024-01-01T08:00:00Z'),
    });
  });
});

describe('names that reach SQL', () => {
  it('are quoted, whatever text they are', async () => {
    const opened = await openTempDatabase();
    const name = fc.oneof(hostileText, fc.constantFrom(...oddNames));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 1, maxLength: 8 }), async (names) => {
        // V8 13.6 takes a name of backslashes and one character for the name of backslashes that it saw before.
        fc.pre(!names.some((name) => name === ROW || /^\\+.?$/su.test(name)));
        const members = names.map((name, at) => `${JSON.stringify(name)}:${at}`).join(',');
        await expectLossless(opened, [[`{"${ROW}":0,${members}}`]]);
      }),
      { numRuns: countRuns(20) },
    );
  });
});
