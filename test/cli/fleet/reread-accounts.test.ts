import { expect, it } from 'vitest';
import { rereadAccounts } from '../../../src/cli/fleet/work.ts';
import type { FleetDatabase } from '../../../src/fleet/database/sql.ts';
import type { ServedAccounts } from '../../../src/fleet/worker/worker-events.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const database = { query: () => Promise.resolve([]) } as unknown as FleetDatabase;
const serve = (...names: readonly string[]): ServedAccounts => ({ names, sources: new Map() });

it('keeps the accounts of a config that broke, says so once, and that it can be read again', async () => {
  const clock = createVirtualClock();
  const said: string[] = [];
  const answers = [
    () => serve('acme', 'globex'),
    ...['line 1 is broken', 'line 1 is broken', 'line 2 is broken'].map((message) => () => {
      throw new Error(message);
    }),
    () => serve('globex'),
    () => serve('globex'),
  ];
  const reread = rereadAccounts(
    {
      clock,
      onLook: undefined,
      onEvent: (event) => said.push(event.type === 'warning' ? event.message : event.type),
      readAccounts: () => Promise.resolve().then(() => answers.shift()?.() ?? serve()),
    },
    database,
    serve('acme'),
  );
  const seen: string[] = [];
  for (let turn = 0; turn < 7; turn += 1) {
    seen.push((await reread()).names.join(','));
    await clock.sleep(30_000);
  }
  const both = 'acme,globex';
  expect(seen).toEqual(['acme', both, both, both, both, 'globex', 'globex']);
  const kept = 'The worker keeps the accounts that it knows; their runs fail until the config is fixed';
  expect(said).toEqual([
    `the config cannot be read: line 1 is broken. ${kept}`,
    `the config cannot be read: line 2 is broken. ${kept}`,
    'the config can be read again',
  ]);
});
