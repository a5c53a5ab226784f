import { Socket } from 'node:net';
import type { FleetSettings } from '../../model/fleet.ts';
import type { QuotaClient } from '../quota/quota-table.ts';
import { loadPg } from './packages.ts';

/** A server that does not answer must not keep requests: they go on without it. */
const CONNECT_MS = 5_000;

/** Opens a connection for the quota of a key that several accounts share. */
export async function connectQuota({ database }: Pick<FleetSettings, 'database'>): Promise<QuotaClient> {
  const { Client } = await loadPg();
  const socket = new Socket();
  const client = new Client({
    connectionString: database.href,
    application_name: 'sluice quota',
    connectionTimeoutMillis: CONNECT_MS,
    stream: () => socket,
  });
  // A connection that is lost while nobody asks anything says so here; the next statement fails.
  client.on('error', () => undefined);
  const end = () => {
    // The driver would wait for a server that may be silent.
    socket.destroy();
    return Promise.resolve();
  };
  try {
    await client.connect();
  } catch (thrown) {
    await end();
    throw thrown;
  }
  return { query: (text, values = []) => client.query(text, [...values]), end };
}
