import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editMembers, type FindEdit } from '../../src/json/edit-members.ts';
import {
  type HostileJson,
  hostileJson,
  oddNames,
  spelling,
  writeHostileJson,
} from '../support/hostile-rows.ts';
import { readPlainJson } from '../support/plain-json.ts';
import { countRuns } from '../support/seeds.ts';

const names = fc.constantFrom('secret', 'mail', 'a', ...oddNames);
const trees = hostileJson(names, 4);

/** Drops `secret`, replaces `mail` and continues inside of everything else. */
const everywhere: FindEdit = (name) => {
  if (name === 'secret') return { kind: 'drop' };
  if (name === 'mail') return { kind: 'replace', replace: () => '"masked"' };
  return { kind: 'enter', find: everywhere };
};

/** What `everywhere` should leave, done on the tree instead of the text. */
function maskTree(tree: HostileJson): HostileJson {
  if ('items' in tree) return { items: tree.items.map(maskTree) };
  if (!('members' in tree)) return tree;
  return {
    members: tree.members
      .filter(([name]) => name !== 'secret')
      .map(([name, value]) => [name, name === 'mail' ? { scalar: { text: 'masked' } } : maskTree(value)]),
  };
}

describe('editMembers', () => {
  it('edits every member of a name at any depth, however it is written, and changes nothing else', () => {
    fc.assert(
      fc.property(trees, spelling, (tree, spelt) => {
        const edited = editMembers(writeHostileJson(tree, spelt), everywhere);
        // Numbers are compared as written: an edit must not reformat one.
        expect(readPlainJson(edited)).toEqual(readPlainJson(writeHostileJson(maskTree(tree), [0])));
      }),
      { numRuns: countRuns(2_000) },
    );
  });

  it('returns the very text when there is nothing to edit', () => {
    fc.assert(
      fc.property(trees, spelling, (tree, spelt) => {
        const text = writeHostileJson(tree, spelt);
        expect(editMembers(text, () => undefined)).toBe(text);
      }),
    );
  });

  it.each([
    ['{"a":1,"secret":2}', '{"a":1}'],
    ['{"secret":2,"a":1}', '{"a":1}'],
    ['{"a": 1.0, "secret": "x" , "b": 1e2}', '{"a": 1.0, "b": 1e2}'],
    ['{"a":1, "secret":2, "secret":3 }', '{"a":1 }'],
    ['{ "secret" : {"a":[1,"}"]} }', '{ }'],
    ['{"secret":1,"a":2,"secret":3}', '{"a":2}'],
    [String.raw`{"s\u0065cret":"x","a":"\u00e9"}`, String.raw`{"a":"\u00e9"}`],
    [String.raw`{"secret":"\\\"}","a":1}`, '{"a":1}'],
    ['[{"secret":1},[{"a":1,"secret":2}],3]', '[{},[{"a":1}],3]'],
    [
      '{"o":{"a":{"mail":[1,{"x":2}]}},"z":12345678901234567890}',
      '{"o":{"a":{"mail":"masked"}},"z":12345678901234567890}',
    ],
    ['"secret"', '"secret"'],
    ['{"a":"secret","b":["mail"]}', '{"a":"secret","b":["mail"]}'],
  ])('%s becomes %s', (text, expected) => {
    expect(editMembers(text, everywhere)).toBe(expected);
  });

  it('looks only where a rule leads', () => {
    const find: FindEdit = (name) =>
      name === 'contact'
        ? { kind: 'enter', find: (inner) => (inner === 'mail' ? { kind: 'drop' } : undefined) }
        : undefined;
    expect(editMembers('{"mail":1,"contact":{"mail":2,"x":{"mail":3}},"other":{"mail":4}}', find)).toBe(
      '{"mail":1,"contact":{"x":{"mail":3}},"other":{"mail":4}}',
    );
  });
});
