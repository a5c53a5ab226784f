import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { initialQuotaState, type QuotaState, type QuotaStore } from '../../src/model/quota.ts';
import { hashKey, openQuotaLedger } from '../../state/quota-ledger.ts';
import { count, read } from './quota-store-conformance.ts';

const keyHash = '0123456789abcdef0123';
const NOBODY = 65_534;
const folders: string[] = [];
const stores: QuotaStore[] = [];

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ledger-'));
  folders.push(folder);
  return folder;
}

function open(dir: string): QuotaStore {
  const store = openQuotaLedger({ dir, keyHash });
  stores.push(store);
  return store;
}

function fileOf(dir: string): string {
  return join(dir, `quota-${keyHash}.db`);
}

describe('a quota ledger', () => {
  it('begins knowing nothing, keeps what it is given, and is shared by all who open it', async () => {
    const dir = join(makeFolder(), 'deep', 'down');
    const [one, two] = [open(dir), open(dir)];
    expect(await read(one)).toEqual(initialQuotaState());
    expect([await count(one), await count(two), await count(two), await count(one)]).toEqual([1, 2, 3, 4]);
    await one.close();
    expect(await count(open(dir))).toBe(5);
    expect([one.warning, two.warning]).toEqual([undefined, undefined]);
  });

  it('keeps every part of a state', async () => {
    const dir = makeFolder();
    const state: QuotaState = {
      version: 1,
      lastUsedAtMs: 1_795_000_000_000,
      movedMs: 0.5,
      window: { limit: 600, remaining: 12, resetAtMs: 1_795_000_100_000, seenAtMs: 1_795_000_000_000 },
      partial: { remaining: 1, resetAtMs: undefined, seenAtMs: 1 },
      headersMissing: true,
      knownLimit: 600,
      notBefore: { atMs: 2, recordedAtMs: 1, reason: 'rate-limited' },
      consecutive429s: 2,
      inFlight: [
        { id: 'a.1.b/7', sentAtMs: 3 },
        { id: 'a.1.b/8', sentAtMs: 4, offsetMs: 2 },
      ],
      unaccounted: { count: 1, lastAtMs: 4 },
      burstBusy: [[5, 1]],
      slowedBurst: { perSecond: 5, untilMs: 1_795_000_060_000 },
      sendsByMinute: [[6, 2]],
    };
    await open(dir).update(() => ({ state, result: undefined }));
    expect(await read(open(dir))).toEqual(state);
  });

  it('writes nothing for a look', async () => {
    const dir = makeFolder();
    const store = open(dir);
    await count(store);
    const before = readFileSync(fileOf(dir));
    await read(store);
    expect(readFileSync(fileOf(dir)).equals(before)).toBe(true);
  });

  it('takes back a change that throws', async () => {
    const store = open(makeFolder());
    await count(store);
    const bug = new Error('a bug');
    await expect(
      store.update(() => {
        throw bug;
      }),
    ).rejects.toBe(bug);
    expect(await count(store)).toBe(2);
  });

  it.skipIf(process.platform === 'win32')('is for its owner alone', async () => {
    const dir = join(makeFolder(), 'ledger');
    await count(open(dir));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  });

  it('adds up over processes that write at once', { timeout: 60_000 }, async () => {
    const dir = makeFolder();
    const module = JSON.stringify(new URL('../../state/quota-ledger.ts', import.meta.url).href);
    const script = `
      import { openQuotaLedger } from ${module};
      const store = openQuotaLedger({ dir: ${JSON.stringify(dir)}, keyHash: '${keyHash}' });
      for (let n = 0; n < 200; n++) await store.update((before) => {
        const state = { ...before, consecutive429s: before.consecutive429s + 1 };
        return { state, result: undefined };
      });
      if (store.warning !== undefined) throw new Error(store.warning);
    `;
    const run = promisify(execFile);
    const flags = ['--experimental-strip-types', '--no-warnings', '--input-type=module', '--eval', script];
    await Promise.all([1, 2, 3].map(() => run(process.execPath, flags)));
    expect(await count(open(dir))).toBe(601);
  });
});

describe('a ledger that cannot be used', () => {
  it.each([
    ['text', Buffer.from('this is not a database, and longer than the header of one. '.repeat(40))],
    ['zeros', Buffer.alloc(8192)],
  ])('because it holds %s is set aside, and a new one begins', async (_, bytes) => {
    const dir = makeFolder();
    writeFileSync(fileOf(dir), bytes);
    const store = open(dir);
    expect(await read(store)).toEqual(initialQuotaState());
    expect(await count(store)).toBe(1);
    if (store.warning === undefined) {
      // SQLite takes a file of zeros for an empty one, which is as good.
      expect(bytes[0]).toBe(0);
      return;
    }
    expect(store.warning).toMatch(/damaged; it is kept as .*\.damaged-\d+, and a new one was started/);
    const kept = readdirSync(dir).find((name) => name.includes('.damaged-'));
    expect(readFileSync(join(dir, kept ?? '')).equals(bytes)).toBe(true);
  });

  it('because its pages are damaged is set aside', async () => {
    const dir = makeFolder();
    const before = open(dir);
    await count(before);
    await before.close();
    const bytes = readFileSync(fileOf(dir));
    bytes.fill(0xa5, 100);
    writeFileSync(fileOf(dir), bytes);
    const store = open(dir);
    expect(store.warning).toMatch(/damaged/);
    expect(await count(store)).toBe(1);
    expect(await count(open(dir))).toBe(2);
  });

  it.each(['', 'not JSON', '{"version":2}', '{"version":1,"window":null}'])(
    'because its state reads %j restarts',
    async (text) => {
      const dir = makeFolder();
      await count(open(dir));
      const db = new DatabaseSync(fileOf(dir));
      db.prepare('UPDATE ledger SET state = ?, revision = revision + 1').run(text);
      db.close();
      const store = open(dir);
      expect(await read(store)).toEqual(initialQuotaState());
      expect(store.warning).toMatch(/held no valid state and was reset/);
      expect(await count(store)).toBe(1);
    },
  );

  it('because a later version wrote it is left alone, and the state is in memory', async () => {
    const dir = makeFolder();
    await count(open(dir));
    const db = new DatabaseSync(fileOf(dir));
    db.exec('PRAGMA user_version = 2');
    db.close();
    const before = readFileSync(fileOf(dir));
    const store = open(dir);
    expect(store.warning).toMatch(/written by a later version of Sluice \(2\)/);
    expect(await count(store)).toBe(1);
    expect(readFileSync(fileOf(dir)).equals(before)).toBe(true);
  });

  it('because its folder is a file, or its file a folder, is in memory', async () => {
    const dir = makeFolder();
    writeFileSync(join(dir, 'file'), '');
    mkdirSync(fileOf(dir));
    for (const broken of [join(dir, 'file'), join(dir, 'file', 'below'), dir]) {
      const store = open(broken);
      expect(store.warning).toMatch(/cannot be used .*other processes with this key are not seen/);
      expect([await count(store), await count(store)]).toEqual([1, 2]);
    }
  });

  it.skipIf(process.platform === 'win32')('because its folder is read-only is in memory', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-read-only-'));
    chmodSync(dir, 0o555);
    try {
      const { store, counted } = asNobody(() => {
        const opened = open(dir);
        return { store: opened, counted: count(opened) };
      });
      expect(await counted).toBe(1);
      expect(store.warning).toMatch(/cannot be used/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('any more continues in memory with what was known', async () => {
    const dir = makeFolder();
    const store = open(dir);
    await count(store);
    const db = new DatabaseSync(fileOf(dir));
    db.exec('DROP TABLE ledger');
    db.close();
    expect(await count(store)).toBe(2);
    expect(store.warning).toMatch(/cannot be used/);
    expect(await count(store)).toBe(3);
  });
});

/** Root may write anywhere, so it does this as nobody; any other user as themselves. */
function asNobody<T>(act: () => T): T {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

describe('the name of a ledger', () => {
  const key = 'sk_live_0123456789abcdef';

  it('reveals nothing of the key', async () => {
    expect(hashKey(key, 'https://api.example.com/v1')).toMatch(/^[0-9a-f]{20}$/);
    const dir = makeFolder();
    const store = openQuotaLedger({ dir, keyHash: hashKey(key, 'https://api.example.com/v1') });
    await count(store);
    await store.close();
    for (const name of readdirSync(dir)) {
      expect(`${name}${readFileSync(join(dir, name), 'latin1')}`).not.toContain('sk_live');
    }
  });

  it('is the same for the same key and API, however its address is written', () => {
    const hash = hashKey(key, 'https://api.example.com/v1');
    expect(hashKey(key, 'https://API.example.com:443/v1/')).toBe(hash);
    expect(hashKey(key, new URL('https://api.example.com/v1'))).toBe(hash);
  });

  it('is another for another key or API', () => {
    const hash = hashKey(key, 'https://api.example.com/v1');
    expect(hashKey(`${key}0`, 'https://api.example.com/v1')).not.toBe(hash);
    expect(hashKey(key, 'https://api.example.com/v2')).not.toBe(hash);
    expect(hashKey(key, 'https://other.example.com/v1')).not.toBe(hash);
  });
});
