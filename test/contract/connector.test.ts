import { describe, expect, it } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import type { Connector } from '../../src/model/connector.ts';
import type { PagingDescription } from '../../src/model/paging.ts';
import { analyticsApi } from '../connectors/analytics-read-api.ts';
import { eventsApi } from '../connectors/example-events/api.ts';
import { exampleEvents } from '../connectors/example-events/connector.ts';
import { ordersApi } from '../connectors/example-orders/api.ts';
import { exampleOrders } from '../connectors/example-orders/connector.ts';
import { findFirstProblems } from './connector.ts';

type Path = readonly (string | number)[];

/** Names and words of the author's own, which cannot be checked. */
const free = /^title$|^name$|^streams\.\d+\.name$|^auth\.(?:rejectionCauses\.\d+|whereKeysAreMade)$/;

/** One stream of each kind: the others would show the same again. */
const connectors = [
  [exampleOrders, ordersApi],
  [{ ...exampleEvents, streams: exampleEvents.streams.slice(0, 1) }, eventsApi],
  [{ ...analyticsRead, streams: analyticsRead.streams.slice(0, 2) }, analyticsApi],
] as const;

describe.each(connectors)('a connector like $name', (connector, api) => {
  const mutants = listLeaves(connector)
    .filter(([path]) => !free.test(path.join('.')))
    .flatMap(([path, leaf]) =>
      change(leaf).map(
        (value) => [`${path.join('.')}: ${String(value)}`, setAt(connector, path, value)] as const,
      ),
    );

  it.each(mutants)('does not pass with %s', async (_, mutant) => {
    expect(await findFirstProblems(mutant as Connector, api)).not.toEqual([]);
  });
});

describe('a connector', () => {
  const [events, mentions, prompts] = [
    ...exampleEvents.streams.slice(0, 1),
    ...analyticsRead.streams.slice(0, 2),
  ];

  it('whose start parameter the API knows and does not heed does not pass', async () => {
    const streams = [mentions, prompts].map((stream) => ({ ...stream, startParam: 'providers' }));
    expect(await findFirstProblems({ ...analyticsRead, streams } as Connector, analyticsApi)).toEqual([
      expect.stringMatching(/^visibility_mentions: providers has no effect/),
      expect.stringMatching(/^prompts_analytics: providers has no effect/),
    ]);
  });

  it.each([
    ['paging', 'limitParam', 'offsetParam'],
    ['paging', 'limit', 'offset'],
    ['paging', 'limit', 'total'],
    ['rateLimitHeaders', 'limit', 'remaining'],
    ['rateLimitHeaders', 'limit', 'reset'],
    ['rateLimitHeaders', 'remaining', 'reset'],
  ] as const)('that takes one of %s, %s, for the other, %s, does not pass', async (part, one, other) => {
    const values: Readonly<Record<string, unknown>> = { ...analyticsRead[part] };
    const swapped = { ...values, [one]: values[other], [other]: values[one] };
    const mutant = { ...analyticsRead, streams: [prompts], [part]: swapped } as Connector;
    expect(await findFirstProblems(mutant, analyticsApi)).not.toEqual([]);
  });

  it('that leaves out where the total is does not pass', async () => {
    const { total: _, ...paging } = exampleEvents.paging as PagingDescription<'cursor'>;
    const mutant = { ...exampleEvents, streams: [events], paging } as Connector;
    expect(await findFirstProblems(mutant, eventsApi)).toEqual(['events: unverified, not verified']);
  });
});

function change(leaf: unknown): readonly unknown[] {
  if (typeof leaf === 'number') return [leaf * 2, Math.floor(leaf / 2)];
  if (typeof leaf === 'boolean') return [!leaf];
  return [`${String(leaf)}x`];
}

function listLeaves(value: unknown, path: Path = []): readonly (readonly [Path, unknown])[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, child]: readonly [string | number, unknown]) =>
    listLeaves(child, [...path, key]),
  );
}

function setAt(value: unknown, [key, ...rest]: Path, leaf: unknown): unknown {
  if (key === undefined) return leaf;
  if (Array.isArray(value))
    return value.map((item: unknown, at) => (at === key ? setAt(item, rest, leaf) : item));
  const record = value as Readonly<Record<string, unknown>>;
  return { ...record, [key]: setAt(record[key], rest, leaf) };
}
