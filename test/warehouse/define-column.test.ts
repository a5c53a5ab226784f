import { expect, it } from 'vitest';
import { defineColumn } from '../../src/warehouse/define-column.ts';

it('defines columns by their types, texts with a compression if one is planned', () => {
  expect(defineColumn({ name: 'a"b', type: 'BIGINT', compression: 'zstd' })).toBe('"a""b" BIGINT');
  expect(defineColumn({ name: 'a', type: 'NULL' })).toBe('"a" VARCHAR');
  expect(defineColumn({ name: 'a', type: 'VARCHAR', compression: 'zstd' })).toBe(
    '"a" VARCHAR USING COMPRESSION zstd',
  );
  expect(defineColumn({ name: 'a', type: 'JSON' })).toBe('"a" JSON');
  expect(defineColumn({ name: 'a', type: 'JSON', compression: 'zstd' })).toBe(
    '"a" JSON USING COMPRESSION zstd',
  );
});
