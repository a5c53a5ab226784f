import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import { lockStateFolder } from '../../../state/lock.ts';
import { killBefore } from '../../crash/crash-states.ts';
import { hookSteps } from '../../support/io-steps.ts';
import { startReader } from '../../support/start-reader.ts';
import type { Scenario } from '../kit/scenario.ts';
import { setUp, type Stage, syncOn } from '../kit/stage.ts';

const inState = ({ project }: Stage, name: string) => join(project.stateDir, name);
const workFile = (stage: Stage) => inState(stage, 'work.duckdb');

/** A sync that works; then something happens to its files; then another sync. */
function syncAfter(happens: (stage: Stage) => Promise<void> | void, ...options: readonly string[]): Scenario {
  return async () => {
    const stage = await setUp();
    await syncOn(stage);
    await happens(stage);
    return syncOn(stage, ...options);
  };
}

/** A sync that dies before a step, as by `kill -9`, a power cut or the kernel's out-of-memory killer; then another. */
function syncAfterKillBefore(step: string): Scenario {
  return async () => {
    const stage = await setUp();
    await killBefore(step, stage.project.folder, () => syncOn(stage));
    return syncOn(stage);
  };
}

/** A sync in which the system refuses one step. */
function syncRefused(step: string, code: string, isLater = false): Scenario {
  return async () => {
    const stage = await setUp();
    if (isLater) await syncOn(stage);
    const { folder } = stage.project;
    const undo = await hookSteps(
      {
        before: ({ name }) => {
          if (name !== step) return;
          const [call = ''] = step.split(' ');
          throw Object.assign(new Error(`${code}: refused, ${call}`), { code, errno: -1, syscall: call });
        },
      },
      (path) => path.startsWith(folder),
    );
    return syncOn(stage, '--force').finally(undo);
  };
}

async function openForWriting(file: string): Promise<void> {
  const reader = await startReader(file, 'READ_WRITE');
  onTestFinished(() => reader.close());
}

async function runSql(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

const spoil = (file: string) => truncateSync(file, statSync(file).size >> 1);

/** The rows of docs/reliability.md about disks, crashes and other processes, by the name in their last cell. */
export const storageScenarios: Readonly<Record<string, Scenario>> = {
  'killed while it fetched': syncAfterKillBefore('sql CREATE TABLE main.items'),
  'killed after it committed': syncAfterKillBefore('sql CHECKPOINT work'),
  'killed while it published': syncAfterKillBefore('copyFile work.duckdb'),
  'another run': async () => {
    const stage = await setUp();
    const lock = await lockStateFolder(stage.project.stateDir, '2026-01-31T06:00:00.000Z');
    onTestFinished(() => lock.release());
    return syncOn(stage);
  },
  'the work file is open elsewhere': syncAfter((stage) => openForWriting(workFile(stage))),
  'the work file is damaged': syncAfter((stage) => spoil(workFile(stage))),
  'the work file is damaged and nothing is published': async () => {
    const stage = await setUp();
    await syncOn(stage, '--max-requests', '1');
    spoil(workFile(stage));
    return syncOn(stage);
  },
  'both files are damaged': syncAfter((stage) => {
    spoil(workFile(stage));
    const content = readFileSync(stage.project.duckdbPath);
    content.fill(0, 100, 200);
    writeFileSync(stage.project.duckdbPath, content);
  }),
  'a newer Sluice was here': syncAfter((stage) =>
    runSql(workFile(stage), `UPDATE _sluice.meta SET value = '99' WHERE key = 'schema_version'`),
  ),
  'the state folder is lost': syncAfter(({ project }) => rmSync(project.stateDir, { recursive: true })),
  'the published file is lost': syncAfter(({ project }) => rmSync(project.duckdbPath)),
  'small files are damaged': syncAfter((stage) => {
    for (const name of ['runs.json', 'published.json', 'lock.sqlite'])
      writeFileSync(inState(stage, name), 'garbage');
  }),
  'the state folder cannot be made': syncRefused('mkdirSync state', 'EACCES'),
  'the disk is full while pages are staged': syncRefused('writev records.ndjson', 'ENOSPC'),
  'the disk is full while it publishes': syncRefused('copyFile work.duckdb', 'ENOSPC', true),
};
