import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/contract/compile-schema.ts';
import { diffContract } from '../../src/contract/diff-contract.ts';
import { parseContract } from '../../src/contract/parse-contract.ts';
import { type ContractField, toJsonSchema } from '../../src/contract/to-json-schema.ts';
import { parseExact } from '../../src/json/exact-number.ts';
import type { LearnedColumn } from '../../src/model/stream.ts';
import { companionPath } from '../../src/schema/field-paths.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../../src/schema/observe-fields.ts';
import { resolveColumns } from '../../src/schema/resolve-columns.ts';
import { hostileJson, hostileObject, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

function field(path: readonly string[], parts: Partial<ContractField> = {}): ContractField {
  return { path, type: 'BIGINT', required: false, nullable: true, ...parts };
}

describe('a contract made of learned fields', () => {
  it('nests what is nested, and asks for what every record has', () => {
    const schema = toJsonSchema('items', [
      field(['id'], { required: true, nullable: false }),
      field(['meta', 'model'], { type: 'VARCHAR', jsonTypes: ['string'], required: true, nullable: false }),
      field(['meta', 'score'], { type: 'DOUBLE' }),
      field(['note'], { type: 'NULL' }),
    ]);
    expect(schema).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'items',
      type: 'object',
      properties: {
        id: { type: 'integer' },
        meta: {
          type: 'object',
          properties: { model: { type: 'string' }, score: { type: ['number', 'null'] } },
          required: ['model'],
        },
        note: {},
      },
      required: ['id', 'meta'],
    });
  });

  it('leaves companions out', () => {
    const schema = toJsonSchema('items', [field(['a']), field(companionPath(['a']), { type: 'VARCHAR' })]);
    expect(schema['properties']).toEqual({ a: { type: ['integer', 'null'] } });
  });

  it('lists values, with null where that is one', () => {
    const schema = toJsonSchema('items', [
      field(['a'], { type: 'VARCHAR', jsonTypes: ['string'], values: ['x', 'y'] }),
    ]);
    expect(schema['properties']).toEqual({ a: { type: ['string', 'null'], enum: ['x', 'y', null] } });
  });

  it('accepts the records it was learned from, whatever they hold and are called', () => {
    const names = fc.oneof(fc.constantFrom('a', 'b', 'ID', 'id'), fc.constantFrom(...oddNames));
    const record = hostileObject(names, hostileJson(names, 2), 5);
    fc.assert(
      fc.property(fc.array(fc.tuple(record, spelling), { minLength: 1, maxLength: 5 }), (records) => {
        const values = records.map(([made, spelt]) => parseExact(writeHostileJson(made, spelt)));
        const tree = createFieldTree();
        for (const value of values) if (isRecordObject(value)) observeRecord(tree, value);
        const columns = resolveColumns(tree, [], () => false);
        const text = JSON.stringify(
          toJsonSchema(
            'items',
            columns.map(({ path, type }) => {
              const node = path.reduce<typeof tree.root | undefined>(
                (at, name) => at?.children.get(name),
                tree.root,
              );
              const required = node?.filled === tree.records;
              // Text columns also hold mixtures, of which no JSON type speaks.
              const isMixed = type === 'VARCHAR' && values.some((value) => !isTextAt(value, path));
              return { path, type: isMixed ? 'JSON' : type, required, nullable: !required };
            }),
          ),
        );
        const { json, problems } = parseContract(text);
        expect(problems).toBeUndefined();
        const validate = compileSchema(json ?? {});
        for (const value of values) if (isRecordObject(value)) expect(validate(value)).toEqual([]);
      }),
      { numRuns: countRuns(100) },
    );
  });
});

function isTextAt(value: unknown, path: readonly string[]): boolean {
  let at: unknown = value;
  for (const part of path) {
    const name = part.replaceAll('\u0000.', '\u0000');
    if (!isRecordObject(at) || !Object.hasOwn(at, name)) return true;
    at = at[name];
  }
  return at === null || typeof at === 'string';
}

describe('what a contract file and learned columns differ in', () => {
  const learned: readonly LearnedColumn[] = [
    { path: ['id'], name: 'id', type: 'BIGINT' },
    { path: ['meta', 'model'], name: 'meta__model', type: 'VARCHAR' },
    { path: ['day'], name: 'day', type: 'VARCHAR' },
    { path: ['extra'], name: 'extra', type: 'DOUBLE' },
    { path: ['empty'], name: 'empty', type: 'NULL' },
  ];
  const file = (text: string) => parseContract(text).json ?? {};

  it('is nothing when they agree', () => {
    const schema = file(
      '{"properties":{"id":{"type":"integer"},"meta":{"properties":{"model":{}}},"day":{"type":["string","null"]},"extra":{"type":"number"},"empty":{"type":"integer"}}}',
    );
    expect(diffContract(schema, learned)).toEqual([]);
  });

  it('is a field that only one of them has, or another type', () => {
    const schema = file(
      '{"properties":{"id":{"type":"string"},"meta":{"properties":{"model":{}}},"day":{"type":"string","format":"date"},"gone":{"type":"integer"},"empty":{}}}',
    );
    expect(diffContract(schema, learned)).toEqual([
      { field: 'id', kind: 'type', fileType: 'string', learnedType: 'BIGINT' },
      { field: 'day', kind: 'type', fileType: 'string (date)', learnedType: 'VARCHAR' },
      { field: 'extra', kind: 'not-in-file', fileType: undefined, learnedType: 'DOUBLE' },
      { field: 'gone', kind: 'not-learned', fileType: 'integer', learnedType: undefined },
    ]);
  });

  it('is not what a file leaves open', () => {
    expect(diffContract(file('{"required":["id"]}'), learned)).toEqual([]);
    expect(diffContract(file('{"properties":{"id":{}},"additionalProperties":true}'), learned)).toEqual([]);
    expect(
      diffContract(file('{"properties":{"meta":{"type":"object"}},"additionalProperties":{}}'), learned),
    ).toEqual([]);
  });

  it('is found behind references', () => {
    const schema = file(
      '{"allOf":[{"$ref":"#/$defs/base"}],"properties":{"day":{},"extra":{},"empty":{},"meta":{}},"$defs":{"base":{"properties":{"id":{"$ref":"#/$defs/id"}}},"id":{"type":"boolean"}}}',
    );
    expect(diffContract(schema, learned)).toEqual([
      { field: 'id', kind: 'type', fileType: 'boolean', learnedType: 'BIGINT' },
    ]);
  });
});
