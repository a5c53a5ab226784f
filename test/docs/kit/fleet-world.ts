import { mkdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../support/lake-servers.ts';
import { ACCOUNTS, makeAccounts } from './docs-world.ts';
import { runLine } from './run-in-process.ts';

/** One more than a page names alone, for those that name several with a pattern. */
const OF_FLEET = [...ACCOUNTS, 'eu-north'];

/** A fleet as the pages suppose it: a database with its tables, a store, and accounts in the config. */
export interface FleetWorld {
  /** Where the pages' commands run. */
  readonly project: string;
  /** Runs statements on its database, as an administrator does. */
  query(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes a fleet with a server of its own; nothing was synced yet. */
export async function makeFleetWorld(project: string, env: NodeJS.ProcessEnv): Promise<FleetWorld> {
  const server = await startPostgres();
  const store = path.join(project, 'store');
  mkdirSync(store, { recursive: true });
  const api = await makeAccounts(project, OF_FLEET, {
    fleet: { database: server.url, store, encryptionKey: 'the-key-of-this-world', lease: '5s' },
  });
  const { exitCode, stderr } = await runLine(['fleet', 'init'], { cwd: project, env });
  if (exitCode !== 0) throw new Error(`the fleet of the world could not be made\n${stderr}`);
  return {
    project,
    async query(text) {
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      try {
        await client.query(text);
      } finally {
        await client.end();
      }
    },
    async close() {
      await api.close();
      await server.stop();
    },
  };
}
