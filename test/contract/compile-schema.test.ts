import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/contract/compile-schema.ts';
import { findSchemaProblems, type JsonObject } from '../../src/contract/find-schema-problems.ts';
import { parseContract } from '../../src/contract/parse-contract.ts';
import { formatPath } from '../../src/contract/violation.ts';
import { parseExact } from '../../src/json/exact-number.ts';
import { countRuns } from '../support/seeds.ts';

/** What a schema of the field `v` says of a record, each as `path kind: reason`. */
function check(schema: string, record: string): readonly string[] {
  const { json, problems } = parseContract(`{"type":"object","properties":{"v":${schema}}}`);
  expect(problems).toBeUndefined();
  return validate(json ?? {}, record);
}

function validate(json: JsonObject, record: string): readonly string[] {
  return compileSchema(json)(parseExact(record)).map(
    ({ path, kind, reason }) => `${formatPath(path)} ${kind}: ${reason}`,
  );
}

describe('types', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['"string"', ['"x"', '""'], ['1', 'null', 'true', '[]', '{}']],
    [
      '"integer"',
      ['1', '-0', '1.0', '1e3', '12345678901234567890', '12345678901234567890.0'],
      ['1.5', '"1"', '1e-3', 'null'],
    ],
    ['"number"', ['1', '1.5', '1e400', '0.1234567890123456789'], ['"1"', 'null', 'true']],
    ['"boolean"', ['true', 'false'], ['0', '"true"']],
    ['"null"', ['null'], ['0', '""']],
    ['"array"', ['[]', '[1]'], ['{}', '"[]"']],
    ['"object"', ['{}', '{"a":1}'], ['[]', 'null', '9007199254740993']],
    ['["string","null"]', ['"x"', 'null'], ['1', '{}']],
    ['["integer","string","null"]', ['1', '"x"', 'null', '9007199254740993'], ['1.5', '[]']],
  ])('%s holds what it should and nothing else', (type, right, wrong) => {
    for (const value of right) expect(check(`{"type":${type}}`, `{"v":${value}}`), value).toEqual([]);
    for (const value of wrong)
      expect(check(`{"type":${type}}`, `{"v":${value}}`), value).toEqual([
        expect.stringMatching(/^v type: expected /),
      ]);
  });

  it('say nothing of a field that is missing', () => {
    expect(check('{"type":"string"}', '{}')).toEqual([]);
  });
});

describe('rules', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['{"minimum":5}', ['5', '5.1', '"x"', 'null', '1e400'], ['4.999', '-1e400']],
    [
      '{"maximum":9007199254740993}',
      ['9007199254740993', '9007199254740992.9'],
      ['9007199254740994', '9007199254740993.1'],
    ],
    ['{"exclusiveMinimum":0.1}', ['0.10000000000000000001'], ['0.1', '0.1000', '1e-1']],
    ['{"exclusiveMaximum":-1}', ['-1.5', '-2'], ['-1', '0']],
    ['{"multipleOf":0.01}', ['0.07', '1.1', '123456789012345678.25', '0', '1e400'], ['0.005', '1e-400']],
    ['{"multipleOf":3}', ['9', '-9', '30000000000000000000000', '3e2'], ['10', '0.3']],
    ['{"minLength":2}', ['"ab"', '"😀😀"', '5'], ['"a"', '"😀"']],
    ['{"maxLength":2}', ['"ab"', '"😀😀"', '[1,2,3]'], ['"abc"', '"😀😀😀"']],
    ['{"pattern":"^\\\\p{Lu}"}', ['"Ärger"', '5'], ['"ärger"', '""']],
    ['{"pattern":"b"}', ['"abc"'], ['"ac"']],
    [
      '{"enum":["a",1,null,[1],{"a":1,"b":2}]}',
      ['"a"', '1', '1.0', 'null', '[1]', '{"b":2,"a":1}'],
      ['"b"', '2', '[]', '"1"'],
    ],
    ['{"const":9007199254740993}', ['9007199254740993'], ['9007199254740992']],
    ['{"minItems":1,"maxItems":2}', ['[1]', '[1,2]', '5'], ['[]', '[1,2,3]']],
    ['{"uniqueItems":true}', ['[1,2]', '[{"a":1},{"a":2}]'], ['[1,1]', '[{"a":1,"b":2},{"b":2,"a":1}]']],
    ['{"minProperties":1,"maxProperties":1}', ['{"a":1}', '[]'], ['{}', '{"a":1,"b":2}']],
    ['{"format":"email"}', ['"a@example.com"', '5'], ['"a"']],
    ['{"format":"uuid"}', ['"7d444840-9dc0-11d1-b245-5ffdce74fad2"'], ['"7d444840"']],
    ['{"format":"uri"}', ['"https://example.com/a?b"'], ['"example"']],
    ['{"format":"ipv4"}', ['"10.0.0.1"'], ['"10.0.0"']],
    ['{"format":"time"}', ['"12:30:00Z"', '"12:30"'], ['"25:00"']],
    ['{"allOf":[{"minimum":1},{"maximum":3}]}', ['2', '"x"'], ['0', '4']],
    ['{"oneOf":[{"type":"integer"},{"minimum":5}]}', ['2', '5.5', '"x"'], ['6', '1.5']],
    ['false', [], ['1', 'null']],
    ['true', ['1', 'null', '{}'], []],
  ])('%s', (schema, right, wrong) => {
    for (const value of right) expect(check(schema, `{"v":${value}}`), value).toEqual([]);
    for (const value of wrong) expect(check(schema, `{"v":${value}}`), value).not.toEqual([]);
  });

  it.each<[string, string, readonly string[]]>([
    ['date', '"2024-02-29"', ['"2023-02-29"', '"2024-02-29T00:00:00Z"']],
    ['date-time', '"2024-01-01T10:00:00+02:00"', ['"2024-01-01T10:00:00"', '"soon"']],
    ['date-time-local', '"2024-01-01 10:00"', ['"2024-01-01T10:00:00Z"']],
  ])('a %s is a matter of the type', (format, right, wrong) => {
    const schema = `{"type":"string","format":"${format}"}`;
    expect(check(schema, `{"v":${right}}`)).toEqual([]);
    for (const value of wrong) expect(check(schema, `{"v":${value}}`)).toEqual([`v type: is no ${format}`]);
  });

  it('count in addition to a wrong type', () => {
    expect(check('{"type":"integer","enum":[1]}', '{"v":"x"}')).toEqual([
      'v type: expected integer, got string',
      'v rule: is not one of 1',
    ]);
  });
});

describe('objects and lists', () => {
  it('say what is missing, by its path', () => {
    const json = JSON.parse(
      '{"required":["a"],"properties":{"a":{},"o":{"type":"object","required":["b"]}}}',
    ) as JsonObject;
    expect(validate(json, '{"o":{}}')).toEqual(['o.b required: is missing', 'a required: is missing']);
    expect(validate(json, '{"a":null}')).toEqual([]);
  });

  it('look into every item of a list', () => {
    const schema =
      '{"items":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}';
    expect(check(schema, '{"v":[{"n":1},{"n":"x"},{"m":1},5]}')).toEqual([
      'v.1.n type: expected integer, got string',
      'v.2.m closed: is not a field of the contract',
      'v.3 type: expected object, got integer',
    ]);
  });

  it('check members nobody described against additionalProperties', () => {
    const schema = '{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}';
    expect(check(schema, '{"v":{"a":"x","b":1,"c":"y"}}')).toEqual([
      'v.c type: expected integer, got string',
    ]);
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('see only own members: %s', (name) => {
    const { json = {} } = parseContract(
      `{"type":"object","required":["${name}"],"properties":{"${name}":{"type":"integer"}}}`,
    );
    expect(validate(json, '{}')).toEqual([`${name} required: is missing`]);
    expect(validate(json, `{"${name}":1}`)).toEqual([]);
    expect(validate(json, `{"${name}":"x"}`)).toEqual([`${name} type: expected integer, got string`]);
  });

  it('follow a description that contains itself', () => {
    const { json = {} } = parseContract(
      '{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"n":{"type":"integer"}}}}}',
    );
    expect(validate(json, '{"n":1,"next":{"n":2,"next":{"n":"x"}}}')).toEqual([
      'next.next.n type: expected integer, got string',
    ]);
  });

  it('say what is wrong by the one description that is meant', () => {
    const schema = '{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}';
    expect(check(schema, '{"v":{}}')).toEqual(['v.a required: is missing']);
    expect(check(schema, '{"v":5}')).toEqual(['v type: no schema under anyOf allows integer']);
  });
});

describe('what a contract file may hold', () => {
  it.each<[string, string]>([
    ['{"type":"object","not":{}}', '/not'],
    ['{"properties":{"a":{"properties":{"b":{"maxmimum":1}}}}}', '/properties/a/properties/b/maxmimum'],
    ['{"properties":{"a/b":{"type":"int"}}}', '/properties/a~1b/type'],
    ['{"properties":{"a":{"items":[{}]}}}', '/properties/a/items'],
    ['{"properties":{"a":{"$ref":"other.json"}}}', '/properties/a/$ref'],
    ['{"properties":{"a":{"$ref":"#/$defs/none"}}}', '/properties/a/$ref'],
    ['{"$defs":{"a":{"$ref":"#/$defs/a"}}}', '/$defs/a/$ref'],
    ['{"properties":{"a":{"minLength":-1}}}', '/properties/a/minLength'],
    ['{"properties":{"a":{"multipleOf":0}}}', '/properties/a/multipleOf'],
    ['{"required":"a"}', '/required'],
    ['{"properties":{"a":{"enum":[]}}}', '/properties/a/enum'],
    ['{"$schema":"http://json-schema.org/draft-04/schema#"}', '/$schema'],
  ])('%s is refused at %s', (text, pointer) => {
    expect(parseContract(text).problems?.map((problem) => problem.pointer)).toEqual([pointer]);
  });

  it('is refused before its depth is a problem', () => {
    let schema: unknown = {};
    for (let level = 0; level < 200; level += 1) schema = { properties: { a: schema } };
    expect(findSchemaProblems(schema)[0]?.message).toMatch(/levels deep/);
  });

  it('includes what only describes, and what other tools read', () => {
    const text =
      '{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","title":"t","description":"d","examples":[1],"x-owner":{"team":"a"},"type":"object"}';
    expect(parseContract(text).problems).toBeUndefined();
  });
});

describe('any schema without problems', () => {
  it('compiles, and judges any record without throwing', () => {
    const leaf = fc.oneof(
      fc.constant({}),
      fc.record({ type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'null') }),
      fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 3 }) }),
      fc.record({ minimum: fc.double({ noNaN: true, noDefaultInfinity: true }), maxLength: fc.nat(5) }),
    );
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.record({ properties: fc.dictionary(fc.string(), tie('schema')), required: fc.array(fc.string()) }),
        fc.record({ items: tie('schema') }),
        fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), schema), fc.jsonValue(), (properties, value) => {
        const json = { type: 'object', properties };
        expect(findSchemaProblems(json)).toEqual([]);
        const violations = compileSchema(json)(value);
        // The verdict does not depend on the order of members.
        const turned =
          typeof value === 'object' && value !== null && !Array.isArray(value)
            ? Object.fromEntries(Object.entries(value).reverse())
            : value;
        expect(
          new Set(compileSchema(json)(turned).map(({ path, kind }) => `${kind} ${formatPath(path)}`)),
        ).toEqual(new Set(violations.map(({ path, kind }) => `${kind} ${formatPath(path)}`)));
      }),
      { numRuns: countRuns(200) },
    );
  });
});
