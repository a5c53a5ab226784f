import { expect } from 'vitest';
import { type DeliveryRequest, withChanges } from '../../src/commands/clients/read-changes.ts';
import type { ChangePosition } from '../../src/model/client-stream.ts';
import { createItemsFlow, DAY_MS, type Flow, type FlowConfig, makeItems } from './sync-harness.ts';

/** What a client received in one read. */
export interface Received {
  readonly isWhole: boolean;
  readonly again: string | undefined;
  readonly position: ChangePosition;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly deleted: readonly Readonly<Record<string, unknown>>[];
}

/** How a client reads. */
export interface ReceiveOptions extends Partial<DeliveryRequest> {
  readonly config?: FlowConfig;
}

/** What a client receives that is at a position. */
export async function receive(
  flow: Flow,
  from?: ChangePosition,
  options: ReceiveOptions = {},
): Promise<Received> {
  const { config, ...request } = options;
  return withChanges(flow.settings(config), { clock: flow.clock }, async ({ deliver }) => {
    const delivery = await deliver({ stream: 'items', from, wantsWhole: false, ...request });
    if (delivery === undefined) throw new Error('there is no table');
    const all = [];
    for await (const chunk of delivery.rows) all.push(...chunk);
    const parse = (members: string) => JSON.parse(`{${members}}`) as Record<string, unknown>;
    return {
      isWhole: delivery.isWhole,
      again: delivery.again,
      position: delivery.position,
      rows: all.filter(({ deletedAt }) => deletedAt === undefined).map(({ members }) => parse(members)),
      deleted: all.filter(({ deletedAt }) => deletedAt !== undefined).map(({ members }) => parse(members)),
    };
  });
}

/** A stream whose deletes are told. */
export const keyed = { key: ['id'], deletes: 'hard', maxDeleteRatio: 1 } as const;

/** The same stream under a key of more columns. */
export const rekeyed = {
  streams: { items: { path: 'items', paginated: true, ...keyed, key: ['date', 'id'] } },
} as const;

/** A flow whose records a test may change. */
export function createChanging(stream: NonNullable<FlowConfig['streams']>[string] = keyed, count = 100) {
  const flow = createItemsFlow(makeItems(count), { stream });
  const edit = (change: (records: Record<string, unknown>[]) => void) =>
    flow.simulator.editRecords('items', (before) => {
      const records = [...before] as Record<string, unknown>[];
      change(records);
      return records;
    });
  const syncAll = async () => {
    flow.clock.stepWall(DAY_MS);
    const report = await flow.sync({ fullRefresh: true });
    expect(report.streams.map(({ status, error }) => error ?? status)).toEqual(['complete']);
  };
  return { flow, edit, syncAll };
}
