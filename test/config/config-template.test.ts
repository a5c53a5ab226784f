import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildConfigTemplate } from '../../src/config/config-template.ts';
import { load, resolve, validEnv } from './support.ts';

const answers = { baseUrl: 'https://analytics.example.com/api/v1', duckdb: './warehouse.duckdb' };

describe('buildConfigTemplate', () => {
  it('loads as it is, without a warning', () => {
    const settings = resolve(buildConfigTemplate(answers));
    expect(settings.baseUrl.href).toBe(answers.baseUrl);
    expect(settings.warnings).toEqual([]);
  });

  it('loads with every comment in effect, and with the defaults it names', () => {
    const text = buildConfigTemplate(answers)
      .replace(/^# Sluice.*\n/, '')
      .replace(/^(\s*)# /gm, '$1');
    const { config } = load(text);
    expect(config.defaults).toEqual({
      lookback: 3 * 86_400_000,
      freshness: 3_600_000,
      fullRefreshEvery: 30 * 86_400_000,
      maxInvalidRatio: 0.05,
    });
    expect(config.source.quota).toEqual({ requestsPerHour: 600, burstPerSecond: 10, reserve: 0 });
    expect(Object.keys(config.streams ?? {})).toHaveLength(5);
    expect(resolve(text, { now: '2026-01-01' }).streams).toHaveLength(4);
  });

  it('leaves a placeholder in an answer to be replaced', () => {
    const text = buildConfigTemplate({ ...answers, duckdb: '${DATA_DIR}/w.duckdb' });
    expect(load(text, { ...validEnv, DATA_DIR: '/data' }).config.destination.duckdb).toBe('/data/w.duckdb');
  });

  it('keeps any other answer as it was given', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.constantFrom(
        '~',
        'true',
        '1',
        'a: b',
        "it's",
        '"q"',
        '# x',
        'a #b',
        ' a',
        'a\nb',
        '-',
        '- a',
        'é 🚰',
      ),
    );
    fc.assert(
      fc.property(
        text.filter((value) => /\S/.test(value) && !value.includes('\0') && !value.includes('${')),
        (value) => {
          const { config } = load(buildConfigTemplate({ baseUrl: value, duckdb: value }));
          expect(config.source.baseUrl).toBe(value);
          expect(config.destination.duckdb).toBe(value);
        },
      ),
      { numRuns: 150 },
    );
  });
});
