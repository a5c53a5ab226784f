import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connectors } from '../../connectors/registry.ts';
import { migrate, readMeta, writeMeta } from '../../state/migrations.ts';
import { describeOwner } from '../../state/owner.ts';
import { workFile } from '../../state/work-file.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import type { Lease } from '../../src/model/state-lock.ts';
import type { Settings } from '../../src/model/settings.ts';
import { publishAll, type PublishOutcome } from '../../src/publish/publish-all.ts';
import type { Publisher } from '../../src/publish/publisher.ts';
import { prepareSecondLook, type SecondLook } from '../../src/storage/assert-lineage.ts';
import { Database } from '../../src/warehouse/database.ts';
import { buildConfig } from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const START_MS = Date.UTC(2026, 0, 31);

/** How a publisher is tried: what makes it, and what a reader of its destination is. */
export interface PublisherCase {
  /** The `destination` of a config, for a project in this folder. */
  destination(folder: string): NonNullable<ConfigInput['destination']>;
  /** Other parts of the config that it needs. */
  readonly config?: Pick<ConfigInput, 'engine'>;
  /** The fewest states on the disk that a publish goes through. */
  readonly leastStates?: number;
  /** In the full proof the disk fills up at every nth step; 2 when left out. */
  readonly diskStride?: number;
  /** Whether it says how large it is; it does when left out. */
  readonly tellsSize?: boolean;
  /** Where it publishes. */
  place(folder: string): string;
  create(settings: Settings, place: string): Publisher;
  /** Values that a reader who comes now finds in table `items`; undefined before anything is published. */
  read(place: string): Promise<readonly number[] | undefined>;
  /** A reader who keeps open what there is now. */
  openReader(place: string): Promise<{ read(): Promise<readonly number[]>; close(): void }>;
  /** Puts something of somebody else at the place; a file when left out. */
  occupy?(place: string): Promise<void>;
  /** Makes rows unreadable, or others. */
  damage(place: string): Promise<void>;
}

/** A state folder with a table `items`, and a publisher of it. */
export interface PublishWorld {
  readonly folder: string;
  readonly place: string;
  readonly settings: Settings;
  readonly publisher: Publisher;
  readonly file: string;
  /** Commits these values as the rows of `items`. */
  commit(values: readonly number[]): Promise<string>;
  publish(lease?: Lease): Promise<PublishOutcome & { readonly events: readonly ProgressEvent['type'][] }>;
}

/** A project in a folder; with `place`, one that publishes to the place of another. */
export async function makeWorld(
  tried: PublisherCase,
  folder: string,
  place = tried.place(folder),
): Promise<PublishWorld> {
  const places = { duckdbPath: '', stateDir: join(folder, 'state'), ledgerDir: join(folder, 'quota') };
  const config = buildConfig(places, { ...tried.config, destination: tried.destination(folder) });
  const resolved = resolveSettings({ loaded: parseConfig(config, folder), connectors, env: {}, nowMs: 0 });
  const settings = { ...resolved, streams: [] };
  const publisher = tried.create(settings, place);
  const file = workFile(settings.stateDir);
  const clock = createVirtualClock({ startMs: START_MS });
  const scratch = join(settings.stateDir, 'tmp');
  mkdirSync(scratch, { recursive: true });

  async function use<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const folders = [scratch, ...(publisher.local?.engineFolders ?? [])];
    const database = await Database.open({ file, folders });
    try {
      return await work(database);
    } finally {
      await database.release();
    }
  }

  let commits = 0;
  await use((database) =>
    database.transaction(async () => {
      await migrate(database, file);
      for (const [key, value] of describeOwner(settings)) await writeMeta(database, key, value);
      await database.run('CREATE TABLE IF NOT EXISTS main.items (id BIGINT, value BIGINT)');
    }),
  );

  return {
    folder,
    place,
    settings,
    publisher,
    file,
    commit: (values) =>
      use((database) =>
        database.transaction(async () => {
          const runId = `${folder.slice(-6)}-${(commits += 1)}`;
          const generation = `${runId} ${String(commits).padStart(12, '0')}`;
          await database.run('DELETE FROM main.items');
          const rows = values.map((value, id) => `(${id}, ${value})`);
          await database.run(`INSERT INTO main.items VALUES ${rows.join(', ')}`);
          await database.run(
            `INSERT INTO _sluice.runs (run_id, started_at) VALUES ($1, make_timestamptz(${commits}000000::BIGINT))`,
            [runId],
          );
          await writeMeta(database, 'generation', generation);
          return generation;
        }),
      ),
    publish: (lease) =>
      use(async (database) => {
        // Names of generations sort by time.
        await clock.sleep(2);
        const events: ProgressEvent['type'][] = [];
        const outcome = await publishAll([publisher], {
          generation: (await readMeta(database)).get('generation') ?? '',
          runId: 'run',
          mustForget: false,
          database,
          file,
          look: lookUnder(lease, await prepareSecondLook(settings, database)),
          lease,
          clock,
          signal: undefined,
          emit: ({ type }) => void events.push(type),
        });
        return { ...outcome, events };
      }),
  };
}

/** As `publishRun` does it. */
function lookUnder(lease: Lease | undefined, look: SecondLook): SecondLook {
  return async (place, generation) => {
    await lease?.confirm();
    await look(place, generation);
  };
}
