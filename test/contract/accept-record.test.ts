import { describe, expect, it } from 'vitest';
import { compileAcceptance, type ContractInForce } from '../../src/contract/accept-record.ts';
import { compileSchema } from '../../src/contract/compile-schema.ts';
import { readFieldShape } from '../../src/contract/field-shape.ts';
import { buildLearnedFields } from '../../src/contract/learned-fields.ts';
import { parseContract } from '../../src/contract/parse-contract.ts';
import { formatPath } from '../../src/contract/violation.ts';
import { parseExact } from '../../src/json/exact-number.ts';
import type { ContractMode } from '../../src/model/schema.ts';
import type { LearnedColumn } from '../../src/model/stream.ts';
import { companionPath } from '../../src/schema/field-paths.ts';
import { compileNames } from '../../src/schema/match-names.ts';

interface Parts {
  readonly mode?: ContractMode | { readonly columns: ContractMode; readonly types: ContractMode };
  readonly file?: string;
  readonly learned?: readonly LearnedColumn[];
  readonly forced?: ContractInForce['forced'];
  readonly masked?: readonly string[];
}

/** What becomes of a record: its JSON, or what is wrong with it. */
function accept(record: string, { mode = 'evolve', file, learned, forced = [], masked = [] }: Parts) {
  const json = file === undefined ? undefined : parseContract(file).json;
  const decide = compileAcceptance({
    modes: typeof mode === 'string' ? { columns: mode, types: mode } : mode,
    schema: json && { validate: compileSchema(json), shape: readFieldShape(json) },
    learned: learned && buildLearnedFields(learned),
    forced,
    fill: {},
    isMasked: compileNames(masked),
  });
  const { value, rejectedFor, failing, discarded, misfits } = decide(parseExact(record));
  const list = (violations: typeof failing) =>
    violations.map(({ path, kind }) => `${kind} ${formatPath(path)}`);
  if (value === undefined) return { rejected: list(rejectedFor) };
  return {
    value: JSON.stringify(value),
    ...(failing.length > 0 && { failing: list(failing) }),
    ...(discarded.length > 0 && { discarded: list(discarded) }),
    ...(misfits.length > 0 && { misfits: list(misfits) }),
  };
}

const learned: readonly LearnedColumn[] = [
  { path: ['n'], name: 'n', type: 'BIGINT' },
  { path: ['n__text'], name: 'n__text', type: 'VARCHAR' },
  { path: companionPath(['n']), name: 'n__text_1', type: 'VARCHAR' },
  { path: ['o', 'a'], name: 'o__a', type: 'DATE' },
  { path: ['j'], name: 'j', type: 'JSON' },
  { path: ['t'], name: 't', type: 'VARCHAR' },
  { path: ['d'], name: 'd', type: 'DECIMAL(38,2)' },
  { path: ['empty'], name: 'empty', type: 'NULL' },
];

describe('learned columns', () => {
  it.each([
    '{"n":1,"o":{"a":"2026-01-31"},"j":{"x":[1]},"t":5,"d":12345678901234567.25}',
    '{"n":null,"o":null,"j":null}',
    '{"n":9007199254740993,"o":{},"j":"x","t":[1]}',
    '{"empty":{"a":1}}',
    '{}',
  ])('hold %s', (record) => {
    expect(accept(record, { mode: 'freeze', learned })).toEqual({
      value: JSON.stringify(parseExact(record)),
    });
  });

  it.each([
    ['{"n":1.5}', 'type n'],
    ['{"n":{"x":1}}', 'type n'],
    ['{"o":5}', 'type o'],
    ['{"o":[1]}', 'type o'],
    ['{"o":{"a":"soon"}}', 'type o.a'],
    ['{"o":{"b":1}}', 'unknown o.b'],
    ['{"t":{"x":1}}', 'type t'],
    ['{"d":0.12345678901234567890}', 'type d'],
    ['{"x":1}', 'unknown x'],
    ['{"__proto__":1}', 'unknown __proto__'],
    ['{"constructor":{}}', 'unknown constructor'],
  ])('do not hold %s', (record, violation) => {
    expect(accept(record, { mode: 'freeze', learned })).toMatchObject({ failing: [violation] });
    expect(accept(record, { mode: 'discard_row', learned })).toEqual({ rejected: [violation] });
    expect(accept(record, { learned })).toEqual({ value: JSON.stringify(parseExact(record)) });
  });

  it('leave out what they do not hold, and no more', () => {
    const record = '{"n":1.5,"o":{"b":1,"a":"2026-01-31"},"x":[1],"t":"kept"}';
    expect(accept(record, { mode: 'discard_value', learned })).toEqual({
      value: '{"o":{"a":"2026-01-31"},"t":"kept"}',
      discarded: ['type n', 'unknown o.b', 'unknown x'],
    });
  });

  it('leave out nulls of unknown fields without a word', () => {
    expect(accept('{"n":1,"x":null}', { mode: 'discard_value', learned })).toEqual({ value: '{"n":1}' });
    expect(accept('{"n":1,"x":null}', { mode: 'freeze', learned })).toEqual({ value: '{"n":1}' });
  });
});

describe('a contract file', () => {
  const file =
    '{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"o":{"type":"object","properties":{"a":{}}},"free":{"type":"object"},"l":{"items":{"type":"object","properties":{"k":{"type":"integer"}},"additionalProperties":false}}}}';

  it('decides which fields are known, whatever was learned', () => {
    expect(accept('{"id":1,"n":1,"o":{"b":1}}', { mode: 'freeze', file, learned })).toMatchObject({
      failing: ['unknown n', 'unknown o.b'],
    });
    expect(accept('{"id":1,"free":{"x":{"y":1}}}', { mode: 'freeze', file })).toEqual({
      value: '{"id":1,"free":{"x":{"y":1}}}',
    });
  });

  it('lets others in where it says so, with whatever is in them', () => {
    const open = '{"properties":{"id":{}},"additionalProperties":true}';
    expect(accept('{"id":1,"x":{"y":1}}', { mode: 'freeze', file: open })).not.toHaveProperty('failing');
  });

  it('allows no others where it says so, even if columns evolve', () => {
    const closed = '{"properties":{"id":{}},"additionalProperties":false}';
    expect(accept('{"id":1,"x":1}', { file: closed })).toEqual({ rejected: ['closed x'] });
    expect(accept('{"id":1,"x":1}', { file: closed, mode: 'discard_value' })).toMatchObject({
      value: '{"id":1}',
    });
  });

  it('takes a whole list out for one bad item', () => {
    expect(accept('{"id":1,"l":[{"k":1},{"k":"x"}]}', { file, mode: 'discard_value' })).toEqual({
      value: '{"id":1}',
      discarded: ['type l.1.k'],
    });
  });

  it('quarantines a record whose required value cannot stay', () => {
    expect(accept('{"id":"x"}', { file, mode: 'discard_value' })).toEqual({ rejected: ['type id'] });
    expect(accept('{}', { file, mode: 'discard_value' })).toEqual({ rejected: ['required id'] });
  });

  it('lets wrong types through where types evolve, and nothing else', () => {
    expect(accept('{"id":"x"}', { file })).toEqual({ value: '{"id":"x"}' });
    expect(accept('{}', { file })).toEqual({ rejected: ['required id'] });
  });

  it('says nothing of the values of masked fields, only that they are there', () => {
    expect(accept('{"id":"5e88","o":{"a":1}}', { file, mode: 'freeze', masked: ['id'] })).toEqual({
      value: '{"id":"5e88","o":{"a":1}}',
    });
    expect(accept('{"o":{}}', { file, mode: 'discard_row', masked: ['id'] })).toEqual({
      rejected: ['required id'],
    });
  });
});

describe('a type from config', () => {
  const forced = [{ path: ['n'], type: 'BIGINT' as const }];

  it('is compared with what can be converted, not with what was learned', () => {
    expect(accept('{"n":"12"}', { mode: 'freeze', learned, forced })).toEqual({ value: '{"n":"12"}' });
    expect(accept('{"n":"x"}', { mode: 'freeze', learned, forced })).toMatchObject({ failing: ['forced n'] });
    expect(accept('{"n":"x"}', { mode: 'discard_row', learned, forced })).toEqual({ rejected: ['forced n'] });
    expect(accept('{"n":"x"}', { forced })).toEqual({ value: '{"n":"x"}', misfits: ['forced n'] });
  });
});
