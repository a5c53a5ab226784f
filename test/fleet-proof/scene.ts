import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Outcome, waitForOutcome } from '../deploy/outcome.ts';
import type { ObjectStore, PostgresServer } from '../support/lake-servers.ts';
import { Machine } from './machine.ts';
import { describeSource, nameSchema, type SceneOptions, writeProject } from './project.ts';
import { StandInApi } from './stand-in-api.ts';
import { fingerprint, type TablePlace } from './tables.ts';

/** What all scenes share. */
export interface Stage {
  /** The built command line. */
  readonly cli: string;
  readonly folder: string;
  readonly postgres: PostgresServer;
  readonly store: ObjectStore;
}

/** Ports of the servers, where a machine reaches them in another way. */
export interface Reach {
  readonly databasePort?: number;
  readonly storePort?: number;
  /** The catalog of a lake is reached by the port of the database as well. */
  readonly lakeThroughGate?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

const FORTY_BYTES = '0123456789abcdef0123456789abcdef01234567';

/** A fleet with its config, its database and its API. */
export class Scene {
  readonly api: StandInApi;
  readonly project: string;
  readonly #stage: Stage;
  readonly #options: SceneOptions;
  readonly #machines: Machine[] = [];
  #made = 0;

  private constructor(stage: Stage, options: SceneOptions) {
    this.#stage = stage;
    this.#options = options;
    this.api = new StandInApi(options.api);
    this.project = join(stage.folder, options.name);
  }

  /** Makes the tables of the fleet; its accounts are due at once. */
  static async open(stage: Stage, options: SceneOptions): Promise<Scene> {
    const scene = new Scene(stage, options);
    await scene.api.start();
    await stage.postgres.createDatabase(options.name);
    await stage.postgres.createDatabase(`${options.name}_lake`);
    await stage.store.createBucket(`fleet-${options.name}`);
    writeProject(scene.project, options, stage.store.region);
    const { exitCode, stdout, stderr } = await scene.run(['fleet', 'init']);
    assert.equal(exitCode, 0, `${stdout}${stderr}`);
    return scene;
  }

  get accounts(): readonly string[] {
    return Object.keys(this.#options.accounts);
  }

  startMachine(lanes: number, reach: Reach = {}): Machine {
    this.#made += 1;
    const machine = new Machine({
      cli: this.#stage.cli,
      project: this.project,
      env: this.#env(reach),
      lanes,
      name: `machine-${this.#made}`,
    });
    this.#machines.push(machine);
    return machine;
  }

  /** All lines of all machines. */
  get lines() {
    return this.#machines.flatMap(({ lines }) => lines);
  }

  get noise(): readonly string[] {
    return this.#machines.flatMap(({ noise }) => noise);
  }

  /** Runs the command line in the folder of the fleet, or in another one. */
  run(
    args: readonly string[],
    { cwd = this.project, cli = this.#stage.cli }: { readonly cwd?: string; readonly cli?: string } = {},
  ): Promise<Outcome> {
    const options = { cwd, env: this.#env({}), timeout: 180_000, killSignal: 'SIGKILL' } as const;
    return waitForOutcome(spawn(process.execPath, [cli, ...args], options));
  }

  async ask(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new Client({ connectionString: `${this.#server}/${this.#options.name}` });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** Waits until the query gives `true`; the message of a failure says what the fleet did until then. */
  async waitFor(what: string, isDone: () => Promise<boolean> | boolean, patienceS = 240): Promise<void> {
    const untilMs = performance.now() + patienceS * 1_000;
    for (;;) {
      if (await isDone()) return;
      if (performance.now() > untilMs) {
        const rows = await this.ask(
          'SELECT account, token, status, exit_code, error FROM sluice_fleet.runs ORDER BY account, token',
        ).catch(String);
        const last = this.lines.slice(-15).map((line) => JSON.stringify(line));
        throw new Error(`waited ${patienceS} s for ${what}\n${JSON.stringify(rows)}\n${last.join('\n')}`);
      }
      await sleep(250);
    }
  }

  /** Whether every account has ended so many runs with exit code 0. */
  async areClean(runs: number): Promise<boolean> {
    const rows = await this.ask(
      `SELECT account FROM sluice_fleet.runs WHERE exit_code = 0 GROUP BY account HAVING count(*) >= ${runs}`,
    ).catch(() => []);
    return rows.length === this.accounts.length;
  }

  /** From their next runs on, accounts read what they have just read. */
  readAgain(): void {
    writeProject(this.project, { ...this.#options, readsAgain: true }, this.#stage.store.region);
  }

  /** Makes every account due. */
  async askForAll(): Promise<void> {
    await this.ask(
      `UPDATE sluice_fleet.accounts SET next_at = clock_timestamp(), queued_at = NULL, paused_at = NULL`,
    );
  }

  /** The tables of each account. */
  async fingerprints(): Promise<Readonly<Record<string, object>>> {
    const all: Record<string, object> = {};
    for (const account of this.accounts) all[account] = await fingerprint(this.placeOf(account));
    return all;
  }

  placeOf(account: string): TablePlace {
    const kind = this.#options.accounts[account] ?? 'duckdb';
    if (kind === 'duckdb') return { kind, file: join(this.project, 'accounts', `${account}.duckdb`) };
    if (kind === 'parquet') return { kind, folder: join(this.project, 'lake', `account=${account}`) };
    const url = `${this.#server}/${this.#options.name}_lake`;
    return { kind, source: `postgres:${url}`, schema: nameSchema(account), store: this.#stage.store };
  }

  /** The same accounts synced in one process with an ample quota: their tables, and the requests that it took. */
  async syncUndisturbed(
    versions: number,
    cli = this.#stage.cli,
  ): Promise<{
    readonly prints: Readonly<Record<string, object>>;
    readonly requests: number;
  }> {
    const project = join(this.project, 'undisturbed');
    mkdirSync(project);
    const api = new StandInApi({
      ...this.#options.api,
      limits: { requests: 100_000, windowMs: 3_600_000 },
      latencyMs: 0,
      // Midnight may be in between.
      lastDay: this.api.lastDay,
    });
    await api.start();
    try {
      const config = {
        ...describeSource(
          { ...this.#options, readsAgain: true },
          { baseUrl: `http://127.0.0.1:${api.port}/api/v1`, keys: '../keys' },
        ),
        destination: { duckdb: './accounts/${account}.duckdb' },
        stateDir: './.sluice/${account}',
        concurrency: 8,
      };
      writeFileSync(join(project, 'sluice.yaml'), JSON.stringify(config));
      for (api.version = 1; api.version <= versions; api.version += 1) {
        const { exitCode, stdout, stderr } = await this.run(['sync', '--no-progress'], { cwd: project, cli });
        assert.equal(exitCode, 0, `${stdout}${stderr}`);
      }
      const prints: Record<string, object> = {};
      for (const account of this.accounts)
        prints[account] = await fingerprint({
          kind: 'duckdb',
          file: join(project, 'accounts', `${account}.duckdb`),
        });
      rmSync(project, { recursive: true });
      return { prints, requests: api.seen.length };
    } finally {
      api.stop();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.kill()));
    this.api.stop();
    rmSync(this.project, { recursive: true, force: true, maxRetries: 5 });
  }

  get #server(): string {
    return this.#stage.postgres.url.replace(/\/postgres$/, '');
  }

  #env({ databasePort, storePort, lakeThroughGate = false, env }: Reach): NodeJS.ProcessEnv {
    const database = new URL(`${this.#server}/${this.#options.name}`);
    const { endpoint, keyId, secret } = this.#stage.store;
    const lake = new URL(`${this.#server}/${this.#options.name}_lake`);
    if (databasePort !== undefined) database.port = String(databasePort);
    if (lakeThroughGate) lake.port = database.port;
    return {
      PATH: process.env['PATH'],
      HOME: this.#stage.folder,
      TMPDIR: this.#stage.folder,
      FLEET_DATABASE_URL: database.href,
      FLEET_KEY: FORTY_BYTES,
      LAKE_URL: lake.href,
      STORE_URL: storePort === undefined ? `http://${endpoint}` : `http://127.0.0.1:${storePort}`,
      STORE_KEY: keyId,
      STORE_SECRET: secret,
      API_URL: `http://127.0.0.1:${this.api.port}/api/v1`,
      ...env,
    };
  }
}
