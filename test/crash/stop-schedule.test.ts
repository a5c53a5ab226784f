import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readRunFile } from '../../state/run-file.ts';
import { hang } from '../../src/simulator/fault-effects.ts';
import { beforeRequest, when } from '../../src/simulator/faults.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { parseMetrics } from '../metrics/parse-metrics.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { inOneDay } from '../support/in-one-day.ts';
import { waitForEnd } from '../support/run-node.ts';
import { makeItems } from '../support/sync-harness.ts';
import { readStagedOffsets } from './read-outcome.ts';

const GRACE_MS = 5_000;
const projects: ChildProject[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(projects.splice(0).map(({ server }) => server.close()));
});

async function createProject(): Promise<ChildProject> {
  const project = await createChildProject({ records: makeItems(300) });
  projects.push(project);
  return project;
}

/** Starts a schedule that would sync in December, and collects what it says on either stream. */
function start(project: ChildProject, args: readonly string[]) {
  const words = ['schedule', '--cron', '0 6 24 12 *', '--timezone', 'UTC', '--log-format', 'json', ...args];
  const child = project.start(words);
  children.push(child);
  const end = waitForEnd(child);
  let told = '';
  let look: () => void = () => undefined;
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      told += String(chunk);
      look();
    });
  /** The first match in what it says. */
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      look = () => {
        const found = pattern.exec(told);
        if (found !== null) resolve(found);
      };
      look();
      void end.then(() => reject(new Error(`it ended without saying ${String(pattern)}: ${told}`)));
    });
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    const outcome = await end;
    clearTimeout(timer);
    return outcome;
  };
  return { says, stop };
}

async function ask(url: string) {
  const response = await fetch(url);
  return { status: response.status, body: await response.text() };
}

describe('a schedule as a process', () => {
  it('syncs, is watched, ends at once while it waits, and does not begin with a broken config', async () => {
    const project = await createProject();
    const file = join(project.folder, 'sluice.prom');
    const { says, stop } = start(project, ['--now', '--metrics-port', '0', '--metrics-file', file]);
    const [, origin = ''] = await says(/"metricsOrigin":"(http:\/\/127\.0\.0\.1:\d+)"/);
    await says(/"type":"next-run"/);
    expect(await ask(`${origin}/readyz`)).toEqual({
      status: 200,
      body: '{"ready":true,"reason":null,"exitCode":0}\n',
    });
    expect(JSON.parse((await ask(`${origin}/healthz`)).body)).toMatchObject({ status: 'ok', running: false });
    const { body } = await ask(`${origin}/metrics`);
    const rows = parseMetrics(body).find(({ name }) => name === 'sluice_stream_rows');
    expect(rows?.samples).toEqual([{ labels: { stream: 'items', slice: '' }, value: 300 }]);
    expect(readFileSync(file, 'utf8')).toContain('sluice_next_run_timestamp_seconds');
    for (const text of [body, readFileSync(file, 'utf8')]) expect(text).not.toContain(DEMO_KEY);
    expect(await stop('SIGTERM')).toMatchObject({ exitCode: 143, signal: null });
    // A schedule that is gone is not up, nor has it a next run.
    const names = parseMetrics(readFileSync(file, 'utf8')).map(({ name }) => name);
    expect(names).toContain('sluice_last_run_exit_code');
    expect(names).not.toContain('sluice_up');
    writeFileSync(join(project.folder, 'sluice.yaml'), 'source: [');
    expect(await project.run(['schedule', '--cron', '@daily'])).toMatchObject({ exitCode: 2 });
  });

  it(
    'ends within 5 s while a request hangs, keeps its pages, and catches up when it is back',
    inOneDay(async () => {
      const project = await createProject();
      const asked = new Promise<void>((resolve) => {
        project.simulator.setFaults([
          when({ nth: 3, count: Infinity }, hang()),
          beforeRequest(3, () => resolve()),
        ]);
      });
      const first = start(project, ['--now']);
      await asked;
      expect(await first.stop('SIGINT')).toMatchObject({ exitCode: 130, signal: null });
      const staged = readStagedOffsets(project.stateDir, 'items');
      expect(staged.length).toBeGreaterThan(0);
      expect(readRunFile(project.stateDir)).toMatchObject([{ status: 'interrupted' }]);
      project.simulator.setFaults([]);
      const before = project.simulator.log.length;
      const second = start(project, []);
      await second.says(/"type":"catch-up"/);
      await second.says(/"type":"next-run"/);
      expect(readRunFile(project.stateDir)[0]).toMatchObject({ status: 'complete', rows: { inserted: 300 } });
      const offsets = project.simulator.log
        .slice(before)
        .map(({ query }) => Number(new URLSearchParams(query).get('offset')));
      expect(offsets.filter((offset) => offset > 0 && staged.includes(offset))).toEqual([]);
      expect(await second.stop('SIGTERM')).toMatchObject({ exitCode: 143 });
    }),
  );
});
