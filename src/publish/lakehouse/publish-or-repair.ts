import { locateInLake, nameThere } from './names.ts';
import { type PublishJob, publishTables, type TablesChange } from './publish-tables.ts';
import { listStoredTables } from './stored-tables.ts';
import { StuckTableError } from './stuck-table.ts';

/** Tables that no publish can change. */
interface Hopeless {
  readonly names: readonly string[];
  /** What becomes of them, for people. */
  readonly why: string;
  readonly drop: () => Promise<void>;
}

/** Publishes. Tables that no publish can change are dropped first, so that the next try makes them again. */
export async function publishOrRepair(job: PublishJob): Promise<TablesChange> {
  const { lakehouse, lease, warn } = job;
  const dropped = new Set<string>();
  for (;;) {
    try {
      return await publishTables(job);
    } catch (thrown) {
      const hopeless = await findHopeless(job, thrown);
      if (hopeless === undefined || hopeless.names.every((name) => dropped.has(name))) throw thrown;
      for (const name of hopeless.names) dropped.add(name);
      await lease?.confirm();
      await hopeless.drop();
      warn(`${lakehouse.destination.path}: ${hopeless.why}`);
    }
  }
}

/** The tables that have to be dropped after a publish failed; undefined where that helps nothing. */
async function findHopeless(
  { database, lakehouse, streams }: PublishJob,
  thrown: unknown,
): Promise<Hopeless | undefined> {
  const { lostFiles, destination } = lakehouse;
  if (thrown instanceof StuckTableError) {
    const { table } = thrown;
    const shown = nameThere(destination.schema, table);
    const why = `the catalog takes no change of the columns of ${shown}, so it was dropped and is written again: readers do not find it until then`;
    const drop = () => database.run(`DROP TABLE IF EXISTS ${locateInLake(destination, table)}`);
    return { names: [table], why, drop };
  }
  if (lostFiles?.isMeant(thrown) !== true) return undefined;
  const stored = await listStoredTables(database, lakehouse, { streams, held: undefined });
  const names = stored.map(({ name }) => name);
  const why = 'files of its tables were lost, so all tables are written again';
  return { names, why, drop: () => lostFiles.drop(database, names) };
}
