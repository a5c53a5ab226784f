import { openFleetDatabase } from '../../src/fleet/database/open-database.ts';
import { AccountQueue } from '../../src/fleet/database/queue.ts';
import { migrateFleet } from '../../src/fleet/database/schema.ts';
import type { FleetDatabase } from '../../src/fleet/database/sql.ts';
import type { PostgresServer } from '../support/lake-servers.ts';

/** A fleet's database with its tables and its queue. */
export interface OpenFleet {
  readonly database: FleetDatabase;
  readonly queue: AccountQueue;
  close(): Promise<void>;
}

export async function openFleet(server: PostgresServer, name: string): Promise<OpenFleet> {
  const url = new URL(await server.createDatabase(name));
  const settings = { database: url, place: 'postgres://here/fleet', secrets: [], leaseMs: 60_000 };
  const database = await openFleetDatabase(settings, { name: 'test', connections: 4 });
  await migrateFleet(database);
  await AccountQueue.migrate(database);
  const queue = await AccountQueue.open(database, () => undefined);
  return {
    database,
    queue,
    async close() {
      await queue.close();
      await database.close();
    },
  };
}
