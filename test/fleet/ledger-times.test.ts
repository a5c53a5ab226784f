import { join } from 'node:path';
import { expect, it } from 'vitest';
import { moveLedgers } from '../../src/fleet/run/ledger-times.ts';
import { reserveSlot, settleSlot } from '../../src/http/quota-rules.ts';
import { openQuotaLedger } from '../../state/quota-ledger.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const HOUR_MS = 3_600_000;
const keyHash = '0123456789abcdef0123';
const limits = {
  burstPerSecond: 10,
  reserve: 0,
  defaultPerWindow: 600,
  windowMs: HOUR_MS,
  ceilingPerWindow: undefined,
};

// The time of the database, by machines whose clocks are an hour behind and an hour ahead of it.
it.each([
  ['an hour behind', HOUR_MS],
  ['an hour ahead', -HOUR_MS],
])('opens a window at its true time on a machine whose clock is %s', async (_, leadMs) => {
  const stateDir = makeTempFolder();
  const dir = join(stateDir, 'quota');
  const nowMs = Date.UTC(2026, 10, 25, 3);
  const first = openQuotaLedger({ dir, keyHash });
  await first.update((before) => {
    const { state } = reserveSlot(before, { now: nowMs, limits, id: 'a' });
    const observation = { limit: 600, remaining: 0, resetAtMs: nowMs + 20_000 };
    return {
      state: settleSlot(state, {
        id: 'a',
        now: nowMs,
        limits,
        outcome: { kind: 'answered', observation },
      }),
      result: undefined,
    };
  });
  await first.close();
  await moveLedgers(stateDir, -leadMs);

  const other = openQuotaLedger({ dir, keyHash });
  const decide = (afterMs: number) =>
    other.update((state) => {
      const { decision } = reserveSlot(state, { now: nowMs - leadMs + afterMs, limits, id: 'b' });
      return { state, result: decision };
    });
  expect(await decide(10_000)).toMatchObject({ kind: 'wait', untilMs: nowMs - leadMs + 21_500 });
  expect(await decide(21_500)).toMatchObject({ kind: 'granted' });
  await other.close();
});

it('needs no ledger', async () => {
  await expect(moveLedgers(makeTempFolder(), 5)).resolves.toBeUndefined();
});
