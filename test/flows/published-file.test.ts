import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unauthorized } from '../../src/simulator/fault-effects.ts';
import { createItemsFlow, makeFolder, makeItems } from '../support/sync-harness.ts';

describe('a published file', () => {
  it('that is damaged within its size is published again by the next sync, without a request', async () => {
    const flow = createItemsFlow(makeItems(200));
    await flow.sync();
    const whole = readFileSync(flow.duckdbPath);
    const file = openSync(flow.duckdbPath, 'r+');
    writeSync(file, Buffer.alloc(8_192, 7), 0, 8_192, Math.floor(statSync(flow.duckdbPath).size / 2));
    closeSync(file);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(readFileSync(flow.duckdbPath).equals(whole)).toBe(true);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, published: undefined });
  });

  it('is put where a link points that points to nothing yet', async () => {
    const folder = makeFolder();
    const target = join(folder, 'volume', 'real.duckdb');
    symlinkSync(target, join(folder, 'warehouse.duckdb'));
    const flow = createItemsFlow(makeItems(20), { folder });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(lstatSync(flow.duckdbPath).isSymbolicLink()).toBe(true);
    expect(statSync(target).isFile()).toBe(true);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, published: undefined });
  });
});

describe('a first sync', () => {
  it('that is refused leaves no folder behind that it made for its destination', async () => {
    const folder = makeFolder();
    const flow = createItemsFlow(makeItems(5), {
      folder,
      config: { destination: { duckdb: join(folder, 'new', 'deep', 'w.duckdb') } },
    });
    flow.simulator.setFaults([unauthorized()]);
    expect((await flow.sync()).exitCode).not.toBe(0);
    expect(existsSync(join(folder, 'new'))).toBe(false);
    flow.simulator.setFaults([]);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(existsSync(join(folder, 'new', 'deep', 'w.duckdb'))).toBe(true);
  });

  it('makes the state folder where a link points that points to nothing yet', async () => {
    const folder = makeFolder();
    symlinkSync(join(folder, 'disk', 'state'), join(folder, 'state'));
    const flow = createItemsFlow(makeItems(5), { folder });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(existsSync(join(folder, 'disk', 'state', 'work.duckdb'))).toBe(true);
    expect(lstatSync(join(folder, 'state')).isSymbolicLink()).toBe(true);
  });
});

describe('a run id that holds the key', () => {
  it('is refused with 2, and written nowhere', async () => {
    const flow = createItemsFlow(makeItems(20));
    const { secret } = flow.settings().credentials;
    const error = await flow.sync({ runId: `job-${secret}` }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ exitCode: 2, code: 'usage_invalid' });
    expect(String(error)).not.toContain(secret);
    expect(flow.arrivals).toEqual([]);
    expect(readdirSync(flow.folder)).toEqual([]);
  });
});
