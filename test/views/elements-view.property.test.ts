import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../state/migrations.ts';
import { ExactNumber, normalizeDecimal, parseExact } from '../../src/json/exact-number.ts';
import {
  createElementFields,
  observeElements,
  packElementFields,
  unpackElementFields,
} from '../../src/schema/element-fields.ts';
import { toPlainText } from '../../src/schema/convert-value.ts';
import { createEngineDialect, nameValue } from '../../src/views/engine-dialect.ts';
import { planViews } from '../../src/views/plan-views.ts';
import { Database } from '../../src/warehouse/database.ts';
import { MEMORY_FILE } from '../../src/warehouse/database-options.ts';
import { quoteIdentifier } from '../../src/warehouse/identifiers.ts';
import { countRuns, seed } from '../support/seeds.ts';

const names = fc.constantFrom(
  'a',
  'A',
  'id',
  'tags',
  'select',
  'order',
  '_index',
  '_value',
  'x y',
  'q"uote',
  "it's",
  'sl/ash',
  'ti~lde',
  'ünï',
  '😀',
  'n'.repeat(70),
  '',
  '0',
  '1',
  '$',
  '*',
  'nul\u0000',
  '__proto__',
  'constructor',
  'n5',
  'back\\slash',
);
const NUMBERS = [
  '0',
  '1',
  '-1',
  '-0',
  '1.5',
  '0.1',
  '9007199254740993',
  '9223372036854775807',
  '18446744073709551616',
  '1e400',
  '-1E-400',
  '1e3',
  '1.0',
  '12345678901234567890.123456789',
  '0.30000000000000004',
  '123456789.12345678901',
  '170141183460469231731687303715884105727',
  '99999999999999999999999999999999999999999',
  '5e-324',
  '2.50',
  '1.10',
];
const TEXTS = [
  '',
  'text',
  'x 12',
  'a "n5" s',
  '"',
  '\\',
  'true',
  'null',
  'n1',
  's',
  '2026-02-28',
  '2026-02-28T10:00Z',
  '2026-02-28 10:00:00,5+0530',
  '2026-02-28T10:00:00',
  '[1]',
  '{',
  'ü\n\t\u0001😀',
  '1e400',
  '-',
  'nul\u0000',
];
const scalar = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.constantFrom(...TEXTS).map((text) => JSON.stringify(text)),
  fc.constantFrom('true', 'false', 'null'),
);
/** JSON as texts: numbers keep their spelling. */
const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { weight: 5, arbitrary: scalar },
    { weight: 1, arbitrary: tie('object') },
    { weight: 1, arbitrary: tie('array') },
  ),
  object: fc
    .uniqueArray(fc.tuple(names, tie('value')), { selector: ([name]) => name, maxLength: 4 })
    .map((members) => `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(', ')}}`),
  array: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[ ${items.join(' ,')}]`),
}));
/** Values of one field are mostly of one kind, as in real records. */
const element = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .uniqueArray(fc.tuple(names, value), { selector: ([name]) => name, maxLength: 5 })
      .map((members) => `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`),
  },
  { weight: 1, arbitrary: value },
);
const cell = fc.oneof(
  { weight: 6, arbitrary: fc.array(element, { maxLength: 4 }).map((items) => `[${items.join(',')}]`) },
  { weight: 1, arbitrary: fc.constantFrom(null, 'null', '[]', '{"a":1}', '"[{"', '5') },
);

/** What a member is in a view: numbers by value, JSON by value, other things as their text. */
function spell(type: string, found: string | null | undefined): string | null {
  if (found === null || found === undefined) return null;
  return type === 'JSON' ? canonical(parseExact(found)) : spellText(type, found);
}

/** A number among texts is kept as it was written, with or without zeros at its end. */
function spellText(type: string, text: string): string {
  if (type === 'BOOLEAN' || type === 'DATE' || type.startsWith('TIMESTAMP')) return text;
  // The engine has no integer -0, and prints a zero of DOUBLE as 0.0.
  return normalizeDecimal(text).replace(/^-0$/, '0');
}

function canonical(parsed: unknown): string {
  if (Array.isArray(parsed)) return `[${parsed.map(canonical).join(',')}]`;
  if (typeof parsed === 'number' || parsed instanceof ExactNumber)
    return normalizeDecimal(toPlainText(parsed));
  if (typeof parsed !== 'object' || parsed === null) return JSON.stringify(parsed);
  return `{${Object.entries(parsed)
    .map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`)
    .join(',')}}`;
}

function expectValue(type: string, member: unknown): string | null {
  if (member === null || member === undefined) return null;
  if (type === 'JSON') return canonical(member);
  const text = toPlainText(member);
  if (!type.startsWith('TIMESTAMP')) return spellText(type, text);
  const [, day, time = '', zone = ''] = /^(.{10}).([\d:.,]*)(.*)$/.exec(text) ?? [];
  const full = `${time.length === 5 ? `${time}:00` : time}`.replace(',', '.');
  const ms = Date.parse(
    `${day}T${full}${zone === '' || /z/i.test(zone) ? 'Z' : zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`,
  );
  return (
    new Date(ms)
      .toISOString()
      .replace('T', ' ')
      .replace(/\.?0*Z$/, '') + (type === 'TIMESTAMP' ? '' : '+00')
  );
}

describe('views of the elements of arrays', () => {
  let database: Database;
  beforeAll(async () => {
    database = await Database.open({ file: MEMORY_FILE, folders: [] });
    await database.transaction(() => migrate(database, 'memory'));
    await database.run(
      'CREATE TABLE main.items (id BIGINT, tags JSON, _run_id VARCHAR, _synced_at TIMESTAMPTZ)',
    );
  });
  afterAll(() => database.release());

  it('have the value of each field of each element, whatever it is called and however it is written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 6 }), async (cells) => {
        await database.run('DELETE FROM main.items');
        const seen = createElementFields();
        for (const [id, text] of cells.entries()) {
          await database.run('INSERT INTO main.items (id, tags) VALUES ($1, $2::JSON)', [id, text]);
          if (text !== null) observeElements(seen, text);
        }
        const fields = unpackElementFields([packElementFields(seen)]);
        expect(packElementFields(fields)).toBe(packElementFields(seen));
        const table = {
          name: 'items',
          columns: new Map([
            ['id', 'BIGINT'],
            ['tags', 'JSON'],
          ]),
          key: ['id'],
          cursor: undefined,
          hasHistory: false,
          elements: new Map([['tags', fields]]),
          account: undefined,
        };
        const dialect = createEngineDialect((schema, name) => `${schema}.${quoteIdentifier(name)}`);
        const plans: { readonly name: string; readonly path: readonly string[]; readonly type: string }[] =
          [];
        const readElements: typeof dialect.readElements = (one, column, columns, all) => {
          plans.push(...columns);
          return dialect.readElements(one, column, columns, all);
        };
        const { views } = planViews([table], { dialect: { ...dialect, readElements } });
        const view = views.find(({ schema }) => schema === 'main');
        expect(view === undefined).toBe(!seen.hasObjects);
        if (view === undefined) return;
        await database.run(`CREATE OR REPLACE VIEW main."items__tags" AS ${view.select}`);
        const texts = plans.map(({ name }) => `CAST(${quoteIdentifier(name)} AS VARCHAR)`);
        const others = quoteIdentifier(nameValue(new Set(['id', 'tags', ...plans.map(({ name }) => name)])));
        const rows = await database.all(
          `SELECT [${['id', '_index', ...texts, ...(seen.hasOthers ? [others] : [])].map((one) => `(${one})::VARCHAR`).join(', ')}]::JSON::VARCHAR AS row FROM main."items__tags" ORDER BY id, _index`,
        );
        const expected = cells.flatMap((text, id) => {
          const parsed = text === null ? null : parseExact(text);
          return !Array.isArray(parsed)
            ? []
            : parsed.map((item: unknown, at) => {
                const isObject = canonical(item).startsWith('{');
                const cellsOf = plans.map(({ path, type }) => {
                  let found: unknown = item;
                  for (const name of path)
                    found =
                      canonical(found ?? null).startsWith('{') && Object.hasOwn(found as object, name)
                        ? (found as Record<string, unknown>)[name]
                        : undefined;
                  return isObject ? expectValue(type, found) : null;
                });
                return [
                  String(id),
                  String(at),
                  ...cellsOf,
                  ...(seen.hasOthers ? [isObject || item === null ? null : canonical(item)] : []),
                ];
              });
        });
        const actual = rows.map(({ row }) => {
          const [id, at, ...found] = JSON.parse(String(row)) as (string | null)[];
          return [id, at, ...found.map((one, index) => spell(plans[index]?.type ?? 'JSON', one))];
        });
        expect(actual).toEqual(expected);
      }),
      {
        seed,
        numRuns: countRuns(400),
        // Names that could be places in an array.
        examples: [
          [['[["x"],{"0":true}]']],
          [['[{"a":["x","y"]},{"a":{"1":5}}]', '[{"a":{"0":{"1":2}}},{"a":[[1,2]]}]']],
        ],
      },
    );
  });
});
