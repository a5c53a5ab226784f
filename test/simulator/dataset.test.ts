import { describe, expect, it } from 'vitest';

import { createSimulator } from '../../src/simulator/simulator.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { ask, askAll } from './ask.ts';
import type { Row } from './ask.ts';

const PATHS = [
  'visibility/mentions',
  'prompts/analytics',
  'commerce/category-products',
  'commerce/top-products',
] as const;

const KEYS: Readonly<Record<string, readonly string[]>> = {
  'visibility/mentions': ['mentionId'],
  'prompts/analytics': ['promptId', 'date'],
  'commerce/category-products': ['categoryId', 'productId'],
  'commerce/top-products': ['date', 'region', 'rank'],
};

function readAll(path: string, options: SimulatorOptions = {}): readonly Row[] {
  const simulator = createSimulator(options);
  return path === 'visibility/mentions' ? ask(simulator, path).data : askAll(simulator, path);
}

function keyOf(path: string, row: Row): string {
  return JSON.stringify((KEYS[path] ?? []).map((field) => row[field]));
}

function countDistinct(rows: readonly Row[], fields: readonly string[]): number {
  return new Set(rows.map((row) => JSON.stringify(fields.map((field) => row[field])))).size;
}

describe('the built-in data', () => {
  it('has the demo sizes on its first day', () => {
    expect(createSimulator().countRows()).toEqual({
      'visibility/mentions': 900,
      'prompts/analytics': 1800,
      'commerce/category-products': 420,
      'commerce/top-products': 600,
    });
  });

  it.each(PATHS)('is the same for the same seed and day: %s', (path) => {
    expect(readAll(path)).toEqual(readAll(path));
  });

  it.each(PATHS)('does not depend on how its day was reached: %s', (path) => {
    const walked = createSimulator();
    walked.advanceDay();
    walked.advanceDay(2);
    const jumped = createSimulator();
    jumped.setDay('2026-02-03');
    expect(ask(walked, path).data).toEqual(ask(jumped, path).data);
  });

  it.each(PATHS)('differs for another seed: %s', (path) => {
    expect(readAll(path, { seed: 2 })).not.toEqual(readAll(path));
  });

  it.each(PATHS)('has its natural key: %s', (path) => {
    const rows = readAll(path);
    expect(countDistinct(rows, KEYS[path] ?? [])).toBe(rows.length);
  });

  it('has no smaller or other key where one might be guessed', () => {
    const listed = readAll('commerce/category-products');
    expect(countDistinct(listed, ['productId'])).toBeLessThan(listed.length);
    const ranked = readAll('commerce/top-products');
    expect(countDistinct(ranked, ['date', 'region', 'productId'])).toBeLessThan(ranked.length);
    const prompts = readAll('prompts/analytics');
    expect(countDistinct(prompts, ['promptId'])).toBe(60);
  });

  it('sorts prompts newest first, then by promptId', () => {
    const rows = readAll('prompts/analytics');
    const order = rows.map((row) => `${String(row['date'])} ${String(row['promptId'])}`);
    const sorted = rows
      .toSorted((a, b) => String(a['promptId']).localeCompare(String(b['promptId'])))
      .toSorted((a, b) => String(b['date']).localeCompare(String(a['date'])))
      .map((row) => `${String(row['date'])} ${String(row['promptId'])}`);
    expect(order).toEqual(sorted);
  });

  it('holds nulls, nested values, emoji, quotes, and decimals of two places', () => {
    const prompts = readAll('prompts/analytics');
    expect(prompts.some((row) => row['rank'] === null)).toBe(true);
    const text = prompts.map((row) => String(row['prompt'])).join('');
    expect(text).toMatch(/"/);
    expect(text).toMatch(/\p{Extended_Pictographic}/u);
    const price = /"price":\d+(\.\d{1,2})?,/;
    const listed = readAll('commerce/category-products').map((row) => JSON.stringify(row));
    expect(listed.every((row) => price.test(row))).toBe(true);
  });
});

describe('a later day', () => {
  const dated = PATHS.filter((path) => path !== 'commerce/category-products');

  it.each(dated)('adds a day, restates some rows of the two days before, and leaves the rest: %s', (path) => {
    const before = new Map(readAll(path).map((row) => [keyOf(path, row), row]));
    const after = readAll(path, { day: '2026-02-01', sizes: { historyDays: 31 } });
    const added = after.filter((row) => !before.has(keyOf(path, row)));
    const changed = after.filter((row) => {
      const old = before.get(keyOf(path, row));
      return old !== undefined && JSON.stringify(old) !== JSON.stringify(row);
    });
    expect(new Set(added.map((row) => row['date']))).toEqual(new Set(['2026-02-01']));
    expect(new Set(changed.map((row) => row['date']))).toEqual(new Set(['2026-01-30', '2026-01-31']));
    expect(changed.length).toBeLessThan(added.length);
    expect(after.length).toBe(before.size + added.length);
  });

  it('changes some prices of the snapshot and their updatedAt, and nothing else', () => {
    const path = 'commerce/category-products';
    const before = new Map(readAll(path).map((row) => [keyOf(path, row), row]));
    const after = readAll(path, { day: '2026-02-01' });
    const changed = after.filter((row) => before.get(keyOf(path, row))?.['price'] !== row['price']);
    expect(after.length).toBe(before.size);
    expect(changed.length).toBeGreaterThan(0);
    expect(changed.length).toBeLessThan(after.length / 5);
    expect(changed.every((row) => String(row['updatedAt']).startsWith('2026-02-01'))).toBe(true);
  });

  it('keeps the oldest day by default and drops it when history slides', () => {
    const grows = createSimulator();
    const slides = createSimulator({ history: 'slides' });
    grows.advanceDay();
    slides.advanceDay();
    expect(grows.countRows()['prompts/analytics']).toBe(1860);
    expect(slides.countRows()['prompts/analytics']).toBe(1800);
  });

  it('refuses an invalid day', () => {
    expect(() => createSimulator({ day: '2026-02-30' })).toThrow(RangeError);
    expect(() => createSimulator().setDay('tomorrow')).toThrow(RangeError);
  });
});
