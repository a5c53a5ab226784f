import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/model/config.ts';
import { startCatalog } from '../../test/support/iceberg-catalog.ts';
import {
  explainMissing,
  findExtensions,
  startObjectStore,
  startPostgres,
} from '../../test/support/lake-servers.ts';
import { measure, type Measured } from '../support/children.ts';
import { type Finding, median, type PartOptions, writeCount, writeNumber } from '../support/finding.ts';
import { makeLargeTable } from '../support/large-table.ts';

type Destination = NonNullable<ConfigInput['destination']>;

/** A place to publish to; every table gets one of its own. */
interface Kind {
  readonly name: string;
  readonly makeDestination: () => Promise<Destination>;
}

interface Servers {
  readonly kinds: readonly Kind[];
  stop(): Promise<void>;
}

const stream = { key: ['id', 'date'], cursor: { field: 'date', param: 'startDate', lookback: '1d' } };

/** First publish and a day of restatements, of each kind of lakehouse, next to the DuckDB file. */
export async function measureLakehouses(options: PartOptions): Promise<readonly Finding[]> {
  const largest = options.size ?? 10_000_000;
  const sizes = [...new Set([Math.ceil(largest / 10), largest])];
  const missing = explainMissing();
  const servers = missing === undefined ? await startServers() : undefined;
  const rows: (readonly string[])[] = [];
  try {
    for (const size of sizes) {
      const rounds: Measured[][] = [];
      for (const kind of servers?.kinds ?? []) {
        options.say(`lakehouses: ${kind.name}, ${writeCount(size)} rows`);
        const round = await measureKind(options, size, kind);
        rounds.push(round);
        rows.push(
          describe(
            kind.name,
            size,
            round.map(({ lakeSeconds }) => lakeSeconds),
            round,
          ),
        );
      }
      const ofFile = [0, 1].map((day) => median(rounds.map((round) => round[day]?.publishSeconds ?? NaN)));
      if (rounds.length > 0) rows.push(describe('DuckDB file', size, ofFile, undefined));
    }
  } finally {
    await servers?.stop();
  }
  return [
    {
      title: 'Publishing to lakehouses',
      head: ['', 'rows', 'first, s', 'rows/s', '1 % restated, s', 'peak MB'],
      rows: missing === undefined ? rows : [['not measured', '', '', '', '', '']],
      notes: [
        'Servers and buckets are on the same machine and share its cores: PostgreSQL with its own settings but for fsync, moto as S3, Nessie as the catalog. The newest 1 % lies in two of 200 days. The DuckDB file is published in the same runs; its seconds are medians.',
        'Peak MB: of the whole sync, the larger of both days.',
        ...(missing === undefined ? [] : [missing]),
      ],
    },
  ];
}

async function startServers(): Promise<Servers> {
  const postgres = await startPostgres();
  const store = await startObjectStore();
  const catalog = await startCatalog(store);
  let made = 0;
  const { endpoint, region, keyId, secret } = store;
  const s3 = {
    endpoint: `http://${endpoint}`,
    region,
    urlStyle: 'path' as const,
    credentials: { keyId, secret },
  };
  await store.createBucket('bench');
  const createDatabase = () => postgres.createDatabase(`bench${(made += 1)}`);
  return {
    kinds: [
      {
        name: 'DuckLake: SQLite, a folder',
        makeDestination: () =>
          Promise.resolve({ ducklake: { catalog: 'sqlite:./catalog.sqlite', data: './data' } }),
      },
      {
        name: 'DuckLake: PostgreSQL, S3',
        makeDestination: async () => ({
          ducklake: { catalog: await createDatabase(), data: `s3://bench/lake${made}` },
          s3,
        }),
      },
      {
        name: 'Iceberg: Nessie, S3',
        makeDestination: () =>
          Promise.resolve({
            iceberg: {
              endpoint: catalog.endpoint,
              warehouse: catalog.warehouse,
              namespace: `bench${(made += 1)}`,
            },
            s3,
          }),
      },
      {
        name: 'Postgres',
        makeDestination: async () => ({ postgres: { url: await createDatabase() } }),
      },
    ],
    async stop() {
      await catalog.stop();
      await store.stop();
      await postgres.stop();
    },
  };
}

async function measureKind(
  { build, folder: parent }: PartOptions,
  size: number,
  { makeDestination }: Kind,
): Promise<Measured[]> {
  const folder = join(parent, 'lakehouse');
  mkdirSync(folder);
  const pages = await makeLargeTable(build, folder, size, stream);
  const destination = await makeDestination();
  const more = { stream, destination, engine: { extensionDirectory: findExtensions() } };
  const round: Measured[] = [];
  try {
    for (const version of [1, 2]) {
      await pages.tell({ mode: 'recent', version });
      round.push(
        await measure(build.script('sync-once'), [pages.origin, folder, '100', JSON.stringify(more)]),
      );
    }
    return round;
  } finally {
    pages.stop();
    rmSync(folder, { recursive: true });
  }
}

function describe(
  name: string,
  size: number,
  [first = NaN, restated = NaN]: readonly number[],
  round: readonly Measured[] | undefined,
): readonly string[] {
  const peak = round === undefined ? '' : writeNumber(Math.max(...round.map(({ peakMb }) => peakMb)));
  return [name, writeCount(size), writeNumber(first), writeCount(size / first), writeNumber(restated), peak];
}
