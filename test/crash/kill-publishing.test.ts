import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectEqual } from '../flows/lakehouse-suite.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { type CuttingSocket, startCuttingSocket } from '../support/cutting-socket.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type LakeReader, openLakeReader } from '../support/ducklake-reader.ts';
import {
  findExtensions,
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { waitForEnd } from '../support/run-node.ts';
import { countRuns, createRandom, seed } from '../support/seeds.ts';
import { makeItems } from '../support/sync-harness.ts';

const KILLS = countRuns(8);
const stream = { key: ['id'], cursor: { field: 'date', lookback: '90d' } };
const random = createRandom();

describeWithServers('a process that publishes to a DuckLake on Postgres and S3', () => {
  let postgres: PostgresServer;
  let store: ObjectStore;
  /** Before Postgres and the store: what the process says to them. */
  let catalog: CuttingSocket;
  let bucket: CuttingSocket;
  let project: ChildProject;
  let open: () => Promise<LakeReader>;

  beforeAll(async () => {
    [postgres, store] = await Promise.all([startPostgres(), startObjectStore()]);
    await store.createBucket('bucket');
    catalog = await startCuttingSocket(postgres.port);
    bucket = await startCuttingSocket(Number(store.endpoint.split(':')[1]));
    const url = await postgres.createDatabase('lake');
    project = await createChildProject({
      records: makeItems(50, { perDay: 10 }),
      stream,
      config: {
        engine: { extensionDirectory: findExtensions() ?? '' },
        destination: {
          duckdb: './warehouse.duckdb',
          ducklake: {
            catalog: url.replace(String(postgres.port), String(catalog.port)),
            data: 's3://bucket/lake',
          },
          s3: {
            endpoint: `http://127.0.0.1:${bucket.port}`,
            region: store.region,
            urlStyle: 'path',
            credentials: { keyId: store.keyId, secret: store.secret },
          },
        },
      },
    });
    open = () => openLakeReader(`postgres:${url}`, 'READ_ONLY', store);
  });
  afterAll(async () => {
    await Promise.all([catalog.stop(), bucket.stop(), project.server.close()]);
    await Promise.all([postgres.stop(), store.stop()]);
  });

  /** Each day every row has another value. */
  const makeDay = (day: number) =>
    makeItems(50 + day, { perDay: 10 }).map((item) => ({ ...item, amount: day, [`day${day % 3}`]: item.id }));

  async function readDays(): Promise<readonly number[]> {
    const reader = await open();
    return reader
      .values('SELECT DISTINCT amount AS value FROM lake.main.items')
      .finally(() => reader.close());
  }

  it(
    'is killed at any moment: readers see one commit, and the next run is equal by value',
    { timeout: KILLS * 60_000 },
    async () => {
      const args = ['sync', '--no-progress', '--force'];
      project.simulator.editRecords('items', () => makeDay(0));
      expect(await project.run(args)).toMatchObject({ exitCode: 0 });
      const most = new Map([
        [catalog, 400],
        [bucket, 40],
      ]);
      let killed = 0;
      for (let day = 1; day <= KILLS; day += 1) {
        project.simulator.editRecords('items', () => makeDay(day));
        const place = random() < 0.6 ? catalog : bucket;
        const at = Math.floor(random() * (most.get(place) ?? 0));
        const when = random() < 0.5 ? 'before' : 'after';
        const where = `SLUICE_SEED=${seed}: day ${day}, ${place === catalog ? 'catalog' : 'bucket'}, ${when} message ${at}`;
        const child = project.start(args);
        place.cutAt(at, when, () => child.kill('SIGKILL'));
        const end = await waitForEnd(child);
        if (end.signal !== 'SIGKILL') {
          expect(end.exitCode, `${where}: ${end.stderr}`).toBe(0);
          most.set(place, place.messages);
        } else killed += 1;
        place.cutAt(undefined);
        const days = await readDays();
        expect(days.length, where).toBe(1);
        expect([day - 1, day], where).toContain(days[0]);
        const repaired = await project.run(args);
        expect(repaired.exitCode, `${where}: ${repaired.stderr}`).toBe(0);
        expect(await readDays(), where).toEqual([day]);
        await expectEqual({ flow: { duckdbPath: project.duckdb }, open, schema: 'main' });
      }
      const verified = await project.run(['verify']);
      expect(verified.exitCode, verified.stdout + verified.stderr).toBe(0);
      expect(killed).toBeGreaterThan(0);
    },
  );
});
