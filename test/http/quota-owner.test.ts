import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createOwner, isOwnerGone, isOwnerHere } from '../../src/http/quota-owner.ts';
import { Quota } from '../../src/http/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const limits = {
  ceilingPerWindow: undefined,
  windowMs: 3_600_000,
  defaultPerWindow: 600,
  burstPerSecond: 1,
  reserve: 0,
};

/** The id of a process of this machine that has ended. */
async function findDeadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--eval', '']);
  await once(child, 'exit');
  return child.pid ?? 0;
}

/** A process that was killed and whose parent never asks how it ended, as the first process of many containers. */
async function withZombie(use: (pid: number) => void): Promise<void> {
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600']);
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    // Only the shell would notice the end of its child.
    while (!readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('sleep'))
      await new Promise(setImmediate);
    process.kill(pid, 'SIGKILL');
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await new Promise(setImmediate);
    use(pid);
  } finally {
    parent.kill('SIGKILL');
  }
}

function withPid(owner: string, pid: number): string {
  const [place, , random] = owner.split('.');
  return `${place}.${pid}.${random}`;
}

it('the end of a window is a whole millisecond, though the clock of waits counts parts of one', async () => {
  const clock = createVirtualClock();
  let part = 0;
  const uneven = { ...clock, monotonic: () => clock.monotonic() + (part += 0.37) };
  const quota = new Quota({ store: createMemoryQuotaStore(), limits, clock: uneven, maxWaitMs: 0 });
  const slot = await quota.acquire();
  const resetAtMs = clock.now() + 1_800_000;
  quota.settle(slot, { kind: 'answered', observation: { limit: 600, remaining: 599, resetAtMs } });
  const seen = (await quota.snapshot()).resetAtMs ?? 0;
  expect(seen).toBe(Math.round(seen));
  expect(Math.abs(seen - resetAtMs)).toBeLessThan(10);
});

describe('the owner of a reservation', () => {
  it('is another for every run', () => {
    expect(createOwner()).toMatch(/^[0-9a-f]{8}\.\d+\.[0-9a-f]{6}$/);
    expect(createOwner()).not.toBe(createOwner());
  });

  it('is gone when its process has ended on this machine', async () => {
    expect(isOwnerGone(withPid(createOwner(), await findDeadPid()))).toBe(true);
  });

  it('is here when its process is seen to run on this machine', async () => {
    const owner = createOwner();
    expect(isOwnerHere(owner)).toBe(true);
    expect(isOwnerHere(withPid(owner, process.ppid))).toBe(true);
    expect(isOwnerHere(withPid(owner, await findDeadPid()))).toBe(false);
    for (const other of ['', 'p1', '..', withPid(owner, NaN), `00000000.${process.pid}.abcdef`])
      expect(isOwnerHere(other)).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'is gone when its process was killed, though its parent never asked how it ended',
    async () => {
      await withZombie((pid) => {
        expect(isOwnerGone(withPid(createOwner(), pid))).toBe(true);
      });
    },
  );

  it('is taken for alive when anything is uncertain', async () => {
    const dead = await findDeadPid();
    expect(isOwnerGone(createOwner())).toBe(false);
    expect(isOwnerGone(withPid(createOwner(), process.ppid))).toBe(false);
    expect(isOwnerGone(`00000000.${dead}.abcdef`)).toBe(false);
    for (const odd of ['', 'p1', '..', withPid(createOwner(), NaN), withPid(createOwner(), -1)]) {
      expect(isOwnerGone(odd)).toBe(false);
    }
  });

  it('that is gone does not hold up the next run', async () => {
    const clock = createVirtualClock();
    const store = createMemoryQuotaStore();
    const owner = withPid(createOwner(), await findDeadPid());
    await new Quota({ store, limits, clock, maxWaitMs: 0, owner }).acquire();
    await new Quota({ store, limits, clock, maxWaitMs: 0 }).acquire();
    expect(clock.monotonic()).toBeLessThanOrEqual(1_020);
  });

  it('that is killed while the next run waits for its answer does not hold it up any longer', async () => {
    const clock = createVirtualClock();
    const store = createMemoryQuotaStore();
    const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
    const exit = once(child, 'exit');
    try {
      const owner = withPid(createOwner(), child.pid ?? 0);
      await new Quota({ store, limits, clock, maxWaitMs: 0, owner }).acquire();
      const quota = new Quota({ store, limits, clock, maxWaitMs: 0 });
      await quota.snapshot();
      const goOn = clock.hold();
      const waiting = quota.acquire();
      child.kill('SIGKILL');
      await exit;
      goOn();
      await waiting;
      expect(clock.monotonic()).toBeLessThanOrEqual(1_220);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
