import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  nameColumns,
  pathKey,
  plainColumnName,
  reservedColumns,
  toSnakeCase,
} from '../../src/schema/name-columns.ts';
import { expectNoSquare } from '../support/growth.ts';
import { hostileText, oddNames } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

const none: ReadonlyMap<string, string> = new Map();
const field = fc.oneof(fc.constantFrom(...oddNames, ...reservedColumns), hostileText);
const paths = fc.uniqueArray(fc.array(field, { minLength: 1, maxLength: 3 }), {
  selector: pathKey,
  maxLength: 40,
});

function nameAll(fields: readonly (readonly string[])[], existing = none): readonly string[] {
  const names = nameColumns(fields, existing);
  return fields.map((path) => names.get(pathKey(path)) ?? 'unnamed');
}

/** The engine compares identifiers byte by byte, ASCII letters without case. */
function foldAsEngine(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

describe('toSnakeCase', () => {
  it.each([
    ['topicId', 'topic_id'],
    ['HTTPStatus', 'http_status'],
    ['already_snake', 'already_snake'],
    ['With Spaces & Signs!', 'with_spaces_signs'],
    ['kebab-case', 'kebab_case'],
    ['v2Score', 'v2_score'],
    ['1st', '_1st'],
    ['2024-01-01', '_2024_01_01'],
    ['_private', '_private'],
    ['__proto__', '__proto'],
    ['-x-', 'x'],
    ['', 'field'],
    [' ', 'field'],
    ['___', 'field'],
    ['👍', 'field'],
    ['\ud800', 'field'],
    ['"; DROP TABLE x; --', 'drop_table_x'],
    ['ÀÉ', 'àé'],
    ['日本', '日本'],
  ])('makes %j to %j', (name, expected) => {
    expect(toSnakeCase(name)).toBe(expected);
  });
});

describe('plainColumnName', () => {
  it('joins the names of a path by two underscores', () => {
    expect(plainColumnName(['meta', 'modelName'])).toBe('meta__model_name');
  });

  it('cuts a name of 10 KB to 120 characters that differ with the whole path', () => {
    const long = 'x'.repeat(10_240);
    const name = plainColumnName([long]);
    expect(name).toHaveLength(120);
    expect(name).toBe(`${'x'.repeat(113)}_${sha256(JSON.stringify([long])).slice(0, 6)}`);
    expect(plainColumnName([`${long}y`])).not.toBe(name);
  });

  it('does not cut a character in two', () => {
    for (const lead of ['', 'x']) {
      const name = plainColumnName([lead + '𝒜'.repeat(100)]);
      expect(name.isWellFormed()).toBe(true);
    }
  });
});

describe('nameColumns', () => {
  it('gives every path a name of its own that the engine can tell from all others', () => {
    fc.assert(
      fc.property(paths, (paths) => {
        const names = nameAll(paths);
        const taken = [...names, ...reservedColumns].map(foldAsEngine);
        expect(new Set(taken).size).toBe(taken.length);
        for (const name of names) {
          expect(name).not.toBe('');
          expect(name.isWellFormed()).toBe(true);
          expect(name).not.toContain('\u0000');
          expect(name).toMatch(/^[^\p{N}]/u);
          expect(name.length).toBeLessThanOrEqual(130);
        }
      }),
      { numRuns: countRuns(600) },
    );
  });

  it('does not depend on the order of the paths', () => {
    fc.assert(
      fc.property(
        paths.chain((paths) =>
          fc.tuple(
            fc.constant(paths),
            fc.shuffledSubarray(paths, { minLength: paths.length, maxLength: paths.length }),
          ),
        ),
        ([paths, shuffled]) => {
          const names = nameColumns(paths, none);
          const others = nameColumns(shuffled, none);
          expect(paths.map((path) => others.get(pathKey(path)))).toEqual(
            paths.map((path) => names.get(pathKey(path))),
          );
        },
      ),
      { numRuns: countRuns(300) },
    );
  });

  it('keeps the names of earlier runs, whatever comes later', () => {
    fc.assert(
      fc.property(paths, paths, (before, later) => {
        const remembered = nameColumns(before, none);
        const all = new Map([...later, ...before].map((path) => [pathKey(path), path]));
        const names = nameColumns([...all.values()], remembered);
        for (const path of before) expect(names.get(pathKey(path))).toBe(remembered.get(pathKey(path)));
        expect(new Set([...names.values()].map(foldAsEngine)).size).toBe(all.size);
      }),
      { numRuns: countRuns(300) },
    );
  });

  it('gives a wanted name to the field that is spelt so', () => {
    expect(nameAll([['ID'], ['id']])).toEqual([`id_${sha256('["ID"]').slice(0, 6)}`, 'id']);
    expect(nameAll([['a', 'b'], ['a__b']])).toEqual(['a__b', expect.stringMatching(/^a__b_[0-9a-f]{6}$/)]);
  });

  it.each([...reservedColumns, '_RUN_ID', 'ROWID', '_sluice_position', '_SLUICE_KEY0'])(
    'never calls a column %s',
    (name) => {
      expect(nameAll([[name]])[0]).toBe(`${toSnakeCase(name)}_${sha256(JSON.stringify([name])).slice(0, 6)}`);
    },
  );

  it('ends when fields are named like the hashes of others', () => {
    const hashes = [6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 64].map((length) => [
      `id_${sha256('["ID"]').slice(0, length)}`,
    ]);
    const names = nameAll([['ID'], ['id'], ...hashes]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('names thousands of paths in a time that does not grow with their square', async () => {
    await expectNoSquare(320, (length) => {
      const many = Array.from({ length }, (_, at) => [`someField${at}`]);
      expect(new Set(nameAll(many)).size).toBe(length);
    });
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
