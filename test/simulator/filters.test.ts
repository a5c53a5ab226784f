import { describe, expect, it } from 'vitest';

import { createSimulator } from '../../src/simulator/simulator.ts';
import { ask, askAll } from './ask.ts';
import type { Row } from './ask.ts';

function valuesOf(rows: readonly Row[], field: string): readonly unknown[] {
  return [...new Set(rows.map((row) => row[field]))].sort();
}

describe('startDate', () => {
  it.each(['prompts/analytics', 'commerce/top-products'])('holds earlier dates back: %s', (path) => {
    const rows = askAll(createSimulator(), `${path}?startDate=2026-01-30`);
    expect(valuesOf(rows, 'date')).toEqual(['2026-01-30', '2026-01-31']);
  });

  it('makes the total smaller', () => {
    const { pagination } = ask(createSimulator(), 'prompts/analytics?startDate=2026-01-30');
    expect(pagination?.total).toBe(120);
  });

  it('may be a timestamp', () => {
    const { pagination } = ask(createSimulator(), 'prompts/analytics?startDate=2026-01-31T00:00:00Z');
    expect(pagination?.total).toBe(60);
  });

  it.each(['31.01.2026', '2026-02-30', '2026-1-3', 'yesterday', '', '2026-01-31x'])(
    'answers 400 naming startDate for "%s"',
    (text) => {
      const refused = ask(createSimulator(), `visibility/mentions?startDate=${text}`);
      expect(refused.status).toBe(400);
      expect(refused.error?.code).toBe('VALIDATION_ERROR');
      expect(refused.error?.message).toContain('startDate');
    },
  );

  it('is ignored by category-products, which have no date', () => {
    const { status, pagination } = ask(createSimulator(), 'commerce/category-products?startDate=nonsense');
    expect(status).toBe(200);
    expect(pagination?.total).toBe(420);
  });
});

describe('filters', () => {
  it.each([
    ['providers', 'provider', 'gemini', 'copilot'],
    ['regions', 'region', 'us', 'de'],
    ['topicIds', 'topicId', 'tp_01', 'tp_02'],
    ['entity', 'entity', 'acme', 'globex'],
  ])('%s takes one value, several joined by commas, or several in turn', (param, field, one, other) => {
    const simulator = createSimulator();
    const read = (query: string) => valuesOf(ask(simulator, `visibility/mentions?${query}`).data, field);
    expect(read(`${param}=${one}`)).toEqual([one]);
    expect(read(`${param}=${one},${other}`)).toEqual([one, other].sort());
    expect(read(`${param}=${one}&${param}=${other}`)).toEqual([one, other].sort());
  });

  it('narrow together', () => {
    const simulator = createSimulator();
    const { data } = ask(simulator, 'visibility/mentions?entity=acme&providers=gemini&startDate=2026-01-20');
    expect(data.length).toBeGreaterThan(0);
    expect(valuesOf(data, 'entity')).toEqual(['acme']);
    expect(valuesOf(data, 'provider')).toEqual(['gemini']);
    expect(data.every((row) => String(row['date']) >= '2026-01-20')).toBe(true);
  });

  it('name topics by their name too', () => {
    const rows = askAll(createSimulator(), 'prompts/analytics?topics=Coffee%20%26%20espresso');
    expect(valuesOf(rows, 'topicId')).toEqual(['tp_03']);
  });

  it('that the records have no field for narrow nothing', () => {
    const { pagination } = ask(createSimulator(), 'commerce/category-products?providers=gemini');
    expect(pagination?.total).toBe(420);
  });

  it('answer 404 for an unknown topic and 400 for an empty value', () => {
    const simulator = createSimulator();
    const unknown = ask(simulator, 'prompts/analytics?topicIds=tp_01,tp_99');
    expect(unknown.error).toMatchObject({ code: 'NOT_FOUND' });
    expect(unknown.error?.message).toContain('tp_99');
    expect(ask(simulator, 'prompts/analytics?providers=').error?.message).toContain('providers');
  });

  it('make entity a must when the option says so', () => {
    const simulator = createSimulator({ requireEntity: true });
    const refused = ask(simulator, 'visibility/mentions');
    expect(refused.error?.code).toBe('VALIDATION_ERROR');
    expect(refused.error?.message).toContain('entity');
    expect(ask(simulator, 'visibility/mentions?entity=acme').status).toBe(200);
    expect(ask(simulator, 'prompts/analytics').status).toBe(200);
  });

  it('follow the data to the next day', () => {
    const simulator = createSimulator();
    const path = 'prompts/analytics?startDate=2026-01-31';
    expect(ask(simulator, path).pagination?.total).toBe(60);
    simulator.advanceDay();
    expect(ask(simulator, path).pagination?.total).toBe(120);
  });
});
