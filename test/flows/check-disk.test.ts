import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ReadDisk } from '../../src/commands/plan/estimate-disk.ts';
import { planOffline } from '../../src/commands/plan/plan.ts';
import { runCheck } from '../support/run-check.ts';
import { createItemsFlow, type Flow, makeItems } from '../support/sync-harness.ts';

const MB = 1_000_000;

/** A disk for each folder that a sync writes to, or one for all. */
function disks(freeBytes: { readonly state: number; readonly destination: number }, flow: Flow): ReadDisk {
  return (folder) =>
    Promise.resolve(
      folder.startsWith(flow.stateDir)
        ? { device: 1, freeBytes: freeBytes.state }
        : { device: 2, freeBytes: freeBytes.destination },
    );
}

async function check(flow: Flow, readDisk?: ReadDisk) {
  const { report, found: disk } = await runCheck(flow, 'disk', readDisk);
  return { report, disk };
}

describe('the disk that check looks at', () => {
  it('is reported with what is free in it', async () => {
    const flow = createItemsFlow(makeItems(10));
    const { report, disk } = await check(flow);
    expect(report.exitCode).toBe(0);
    expect(disk).toMatchObject({ status: 'ok' });
    expect(disk?.detail).toMatch(/^[\d.]+ [kMGT]B free in /);
  });

  it.each([
    { place: 'state', free: { state: MB, destination: 900 * MB } },
    { place: 'destination', free: { state: 900 * MB, destination: MB } },
  ])('fails the check where the $place has no room', async ({ free }) => {
    const flow = createItemsFlow(makeItems(10));
    await flow.sync();
    const { report, disk } = await check(flow, disks(free, flow));
    expect(report).toMatchObject({ ok: false, exitCode: 6 });
    expect(disk).toMatchObject({ status: 'failed' });
    expect(disk?.detail).toMatch(/has 1\.0 MB free, and a sync needs at least [\d.]+ MB there/);
    expect(disk?.fix).toContain('Free some disk space');
  });

  it('has room for the published copy next to the file that it replaces', async () => {
    const flow = createItemsFlow(makeItems(2_000));
    await flow.sync();
    const { size } = statSync(flow.duckdbPath);
    const ask = async (destination: number) =>
      (await check(flow, disks({ state: 900 * MB, destination }, flow))).report.exitCode;
    expect(await ask(size - 1)).toBe(6);
    expect(await ask(2 * size)).toBe(0);
  });
});

describe('the disk of a plan without anything to read', () => {
  it('holds the copy of a commit that is not published', async () => {
    const flow = createItemsFlow(makeItems(500));
    await flow.sync();
    // Nothing says that it was published: it is published once more.
    rmSync(join(flow.stateDir, 'published.json'));
    const { disk } = await planOffline(flow.settings(), { clock: flow.clock });
    expect(disk?.[0]?.neededBytes).toBeGreaterThan(3 * MB);
  });

  it('holds the state that is restored from the published file', async () => {
    const flow = createItemsFlow(makeItems(2_000));
    await flow.sync();
    const plan = async () =>
      (await planOffline(flow.settings(), { fullRefresh: true, clock: flow.clock })).disk?.[0]?.neededBytes ??
      0;
    const before = await plan();
    rmSync(flow.stateDir, { recursive: true });
    expect(await plan()).toBeGreaterThanOrEqual(before + statSync(flow.duckdbPath).size);
  });
});
