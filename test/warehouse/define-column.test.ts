import { expect, it } from 'vitest';
import { defineColumn } from '../../src/warehouse/define-column.ts';

it('defines columns by their types, those without one yet as texts', () => {
  expect(defineColumn({ name: 'a"b', type: 'BIGINT' })).toBe('"a""b" BIGINT');
  expect(defineColumn({ name: 'a', type: 'NULL' })).toBe('"a" VARCHAR');
});
