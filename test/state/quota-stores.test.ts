import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { openQuotaLedger } from '../../state/quota-ledger.ts';
import { createSlowQuotaServer } from '../support/slow-quota-store.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { describeQuotaStore } from './quota-store-conformance.ts';

describeQuotaStore('the ledger', () => {
  const dir = makeTempFolder();
  const keyHash = '0123456789abcdef0123';
  const file = join(dir, `quota-${keyHash}.db`);
  return {
    open: () => openQuotaLedger({ dir, keyHash }),
    describeWritten: () => readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'base64')]),
    damage: () => {
      const db = new DatabaseSync(file);
      db.exec('DROP TABLE ledger');
      db.close();
    },
  };
});

describeQuotaStore('the memory', () => {
  const store = createMemoryQuotaStore();
  return { open: () => store };
});

// Shows that the interface can be kept by what is not on this machine.
describeQuotaStore('a server that takes its time', () => {
  const server = createSlowQuotaServer(async () => {
    await setImmediate();
  });
  return {
    open: () => server.open(),
    describeWritten: () => server.writes,
    damage: () => {
      server.fail();
    },
  };
});
