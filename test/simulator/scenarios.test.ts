import { describe, expect, it } from 'vitest';

import { scenarios } from '../../src/simulator/scenarios.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { ask, askAll } from './ask.ts';

describe('scenarios', () => {
  it('have names of their own, in words that stand on a command line', () => {
    const names = scenarios.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
  });

  it('say in whole sentences what they do and what there is to see, and end with a sync', () => {
    for (const { name, sentence, watch, steps } of scenarios) {
      expect([sentence, watch].join(' '), name).toMatch(/^[a-zA-Z0-9].*[.]$/);
      // They stand in a table of the docs.
      expect(sentence + watch, name).not.toContain('|');
      expect(steps.at(-1), name).toMatch(/^sync/);
    }
  });

  it('restart with each simulator', () => {
    const scenario = scenarios.find(({ name }) => name === 'empty-page');
    for (const simulator of [1, 2].map(() => createSimulator(scenario?.options()))) {
      const count = () => ask(simulator, 'prompts/analytics?limit=100&offset=297').data.length;
      expect([count(), count()]).toEqual([0, 100]);
    }
  });
});

describe('bad records', () => {
  it('are two of a hundred on the next day as well, when only its days are asked for', () => {
    const scenario = scenarios.find(({ name }) => name === 'bad-records');
    const simulator = createSimulator(scenario?.options());
    simulator.advanceDay();
    const all = askAll(simulator, 'prompts/analytics?startDate=2026-01-29') as readonly unknown[];
    const bad = all.filter((record) => typeof record === 'string');
    expect(all.length).toBeGreaterThan(100);
    expect(all.length).toBeLessThan(1_000);
    expect(bad.length / all.length).toBeCloseTo(0.02, 2);
  });
});

describe('reshaped records', () => {
  it('depend on the days since the first one, and on nothing else', () => {
    const simulator = createSimulator({
      reshape: { 'prompts/analytics': (records, daysOn) => records.slice(0, 10 + daysOn) },
    });
    expect(askAll(simulator, 'prompts/analytics')).toHaveLength(10);
    simulator.advanceDay(3);
    expect(askAll(simulator, 'prompts/analytics')).toHaveLength(13);
    simulator.setDay('2026-01-31');
    expect(askAll(simulator, 'prompts/analytics')).toHaveLength(10);
    expect(ask(simulator, 'visibility/mentions').data).toHaveLength(900);
  });

  it('may be of an endpoint of one’s own', () => {
    const simulator = createSimulator({
      endpoints: { own: { paginated: true, records: () => [{ id: 1 }, { id: 2 }] } },
      reshape: { own: (records) => records.toReversed() },
    });
    expect(ask(simulator, 'own').data).toEqual([{ id: 2 }, { id: 1 }]);
  });
});
