import { join } from 'node:path';
import { openStore } from '../../src/fleet/store/open-store.ts';
import { KilledMachines } from '../../test/fleet-proof/kill-in-turn.ts';
import { Scene, type Stage } from '../../test/fleet-proof/scene.ts';
import { explainMissing, startObjectStore, startPostgres } from '../../test/support/lake-servers.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';

const LANES = 2;
const LEASE_S = 6;
const KILL_EVERY_MS = 6_000;

/** What some workers took for all accounts. */
interface Taken {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly rateLimited: number;
  readonly kills: number;
  readonly recoveries: readonly number[];
}

/** Accounts of a fleet: how many a minute by workers, and what a killed worker costs. */
export async function measureFleet(options: PartOptions): Promise<readonly Finding[]> {
  const missing = explainMissing();
  if (missing !== undefined) throw new Error(missing);
  const count = options.size ?? 30;
  const [postgres, store] = await Promise.all([startPostgres({ keepsCommits: true }), startObjectStore()]);
  const stage = { cli: options.build.cli, folder: options.folder, postgres, store };
  try {
    const taken: Taken[] = [];
    for (const workers of [1, 2, 3]) {
      options.say(`fleet: ${count} accounts, workers: ${workers}`);
      taken.push(await syncAll(stage, { name: `fleet${workers}`, count, workers }));
    }
    options.say('fleet: the same while workers are killed');
    const killed = await syncWhileKilled(stage, count);
    return [tabulate([...taken, killed.taken], { count, undisturbed: killed.undisturbed }), killed.objects];
  } finally {
    await Promise.all([postgres.stop(), store.stop()]);
  }
}

function openScene(stage: Stage, name: string, count: number): Promise<Scene> {
  return Scene.open(stage, {
    name,
    accounts: Object.fromEntries(Array.from({ length: count }, (_, at) => [`client-${at + 1}`, 'duckdb'])),
    leaseS: LEASE_S,
    api: {
      limits: { requests: 600, windowMs: 3_600_000 },
      counts: { mentions: 500, prompts: 500, categories: 500, products: 500 },
    },
  });
}

async function syncAll(
  stage: Stage,
  { name, count, workers }: { readonly name: string; readonly count: number; readonly workers: number },
): Promise<Taken> {
  const scene = await openScene(stage, name, count);
  try {
    for (let at = 0; at < workers; at += 1) scene.startMachine(LANES);
    await scene.waitFor('every account', () => scene.areClean(1), 60 * count);
    return {
      ...(await readTaken(scene, workers === 1 ? 'one worker' : `${workers} workers`)),
      kills: 0,
      recoveries: [],
    };
  } finally {
    await scene.close();
  }
}

async function syncWhileKilled(stage: Stage, count: number) {
  const scene = await openScene(stage, 'fleetkilled', count);
  try {
    const machines = new KilledMachines(scene, { count: 3, lanes: LANES });
    await machines.during(
      KILL_EVERY_MS,
      scene.waitFor('every account', () => scene.areClean(1), 60 * count),
    );
    const taken = {
      ...(await readTaken(scene, '3 workers, kill -9 of one every 6 s')),
      kills: machines.kills,
      recoveries: await machines.readRecoveries(),
    };
    const { requests } = await scene.syncUndisturbed(1);
    return { taken, undisturbed: requests, objects: await measureObjects(scene, stage) };
  } finally {
    await scene.close();
  }
}

/** From the first run to the end of the last one, by the database's clock. */
async function readTaken(
  scene: Scene,
  name: string,
): Promise<Pick<Taken, 'name' | 'seconds' | 'requests' | 'rateLimited'>> {
  const [row] = await scene.ask(
    'SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds FROM sluice_fleet.runs',
  );
  const { seen, refused } = scene.api;
  return { name, seconds: Number(row?.['seconds']), requests: seen.length, rateLimited: refused };
}

/** How long objects like those of the accounts take to the store and back. */
async function measureObjects(scene: Scene, { store, folder }: Stage): Promise<Finding> {
  const rows = await scene.ask(
    `SELECT object, object_bytes::int AS bytes FROM sluice_fleet.accounts JOIN sluice_fleet.runs USING (account, token)`,
  );
  const { endpoint, region, keyId, secret } = store;
  const reach = {
    store: { endpoint: new URL(`http://${endpoint}`), region, urlStyle: 'path', keys: { keyId, secret } },
  } as const;
  const bucket = await openStore({ kind: 's3', bucket: 'fleet-fleetkilled', prefix: 'states' }, { reach });
  const fetches: number[] = [];
  const puts: number[] = [];
  try {
    for (const [at, { object }] of rows.entries()) {
      const file = join(folder, `object-${at}`);
      const beganMs = performance.now();
      await bucket.get(String(object), file);
      const fetchedMs = performance.now();
      await bucket.put(`bench/${at}-1.state`, file);
      fetches.push(fetchedMs - beganMs);
      puts.push(performance.now() - fetchedMs);
    }
  } finally {
    await bucket.close();
  }
  const sizes = rows.map(({ bytes }) => Number(bytes) / 1_000);
  const line = (name: string, values: readonly number[]) => [
    name,
    writeNumber(median(values)),
    writeNumber(Math.max(...values)),
  ];
  return {
    title: 'The state of an account with 2,000 rows',
    head: ['', 'p50', 'max'],
    rows: [line('size, kB', sizes), line('fetch, ms', fetches), line('put, ms', puts)],
    notes: ['An S3 server on the same machine, which keeps objects in memory.'],
  };
}

function tabulate(
  taken: readonly Taken[],
  { count, undisturbed }: { readonly count: number; readonly undisturbed: number },
): Finding {
  const refused = taken.reduce((total, { rateLimited }) => total + rateLimited, 0);
  const last = taken.at(-1);
  const slowest = Math.max(...(last?.recoveries ?? []));
  return {
    title: `${writeCount(count)} accounts of four streams, ${LANES} lanes a worker`,
    head: [
      '',
      's',
      'accounts a minute',
      'requests',
      'over undisturbed',
      'kills',
      'begun again, s (p50)',
      'max',
      '429s',
    ],
    rows: taken.map((one) => [
      one.name,
      writeNumber(one.seconds),
      writeNumber((count * 60) / one.seconds),
      writeCount(one.requests),
      `+${writeNumber((one.requests / undisturbed - 1) * 100)} %`,
      writeCount(one.kills),
      one.recoveries.length === 0 ? '' : writeNumber(median(one.recoveries)),
      one.recoveries.length === 0 ? '' : writeNumber(slowest),
      writeCount(one.rateLimited),
    ]),
    notes: [
      ...(last === undefined || last.recoveries.length === 0
        ? []
        : [
            writeGoal(
              'a run begins again within three leases of a kill',
              slowest <= 3 * LEASE_S,
              `${writeNumber(slowest)} s at most, with a lease of ${LEASE_S} s`,
            ),
          ]),
      writeGoal('no 429', refused === 0, writeCount(refused)),
      'All workers, the database, the object store and the API share one machine: more workers than cores add nothing. Seconds are from the first run to the end of the last.',
    ],
  };
}
