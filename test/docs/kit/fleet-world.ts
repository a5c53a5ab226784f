import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { cliEntry } from '../../support/cli-entry.ts';
import { startPostgres } from '../../support/lake-servers.ts';
import { ACCOUNTS, makeAccounts } from './docs-world.ts';
import { runLine } from './run-in-process.ts';

/** One more than a page names alone, for those that name several with a pattern. */
const OF_FLEET = [...ACCOUNTS, 'eu-north'];

/** A fleet as the pages suppose it: a database with its tables, a store, and accounts in the config. */
export interface FleetWorld {
  /** Where the pages' commands run. */
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
  /** The address of its database for another user. */
  urlOf(user: string, password: string): string;
  /** Runs a worker until its log matches; returns the log. */
  work(env: NodeJS.ProcessEnv, until: RegExp): Promise<string>;
  /** Runs statements on its database, as an administrator does. */
  query(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes a fleet with a server of its own; nothing was synced yet. */
export async function makeFleetWorld(project: string, env: NodeJS.ProcessEnv): Promise<FleetWorld> {
  const server = await startPostgres();
  const store = path.join(project, 'store');
  mkdirSync(store, { recursive: true });
  const url = await server.createDatabase('fleet');
  const ownEnv = { ...env, FLEET_DATABASE_URL: url };
  const api = await makeAccounts(project, OF_FLEET, {
    fleet: { database: '${FLEET_DATABASE_URL}', store, encryptionKey: 'the-key-of-this-world', lease: '5s' },
  });
  const { exitCode, stderr } = await runLine(['fleet', 'init'], { cwd: project, env: ownEnv });
  if (exitCode !== 0) throw new Error(`the fleet of the world could not be made\n${stderr}`);
  return {
    project,
    env: ownEnv,
    urlOf: (user, password) => {
      const other = new URL(url);
      other.username = user;
      other.password = password;
      return other.href;
    },
    work: (env, until) =>
      new Promise((resolve, reject) => {
        const args = [
          '--no-warnings',
          cliEntry,
          'fleet',
          'worker',
          '--scratch',
          path.join(project, 'scratch'),
        ];
        let log = '';
        const child = execFile(process.execPath, args, { cwd: project, env }, (error) => {
          // As a shell shows it, or as a program that died from the signal.
          if (error?.code === 143 || error?.signal === 'SIGTERM') resolve(log);
          else reject(new Error(`the worker ended with ${error?.code ?? 0}\n${log}`));
        });
        child.stderr?.on('data', (chunk) => {
          log += String(chunk);
          if (until.test(log)) child.kill('SIGTERM');
        });
      }),
    async query(text) {
      const client = new pg.Client({ connectionString: url });
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
