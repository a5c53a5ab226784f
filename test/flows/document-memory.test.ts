import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { RunReport } from '../../src/model/run-report.ts';
import { createCliProject } from '../faults/kit/cli-project.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { createRawServer } from '../support/raw-server.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { noBuiltIns } from '../support/sync-harness.ts';

const RECORDS = 300_000;
/** A sync of 1 GB takes no more either. */
const MOST_MB = 400;

it('a dataset of 100 MB in one answer passes through a process that never holds it', async () => {
  const server = await createRawServer(({ socket }) => void sendDataset(socket));
  onTestFinished(() => server.close());
  const { folder } = createCliProject({
    baseUrl: `http://127.0.0.1:${server.port}/api/v1`,
    config: { streams: { ...noBuiltIns, items: { path: 'items' } } },
  });
  const peakFile = join(folder, 'peak.txt');
  const child = startNode(cliEntry, ['sync', '--json'], {
    cwd: folder,
    env: {
      ANALYTICS_API_KEY: 'test-key-0123456789',
      SLUICE_CONFIG: join(folder, 'sluice.yaml'),
      NODE_OPTIONS: `--import=${join(import.meta.dirname, '../faults/kit/report-peak.ts')}`,
      PEAK_FILE: peakFile,
    },
  });
  const { exitCode, stdout } = await waitForEnd(child);
  expect(exitCode).toBe(0);
  const { result } = JSON.parse(stdout) as { readonly result: RunReport };
  expect(result.streams.find(({ stream }) => stream === 'items')).toMatchObject({
    verdict: 'verified',
    rowsInTable: RECORDS,
  });
  expect(server.requests).toHaveLength(1);
  expect(Number(readFileSync(peakFile, 'utf8'))).toBeLessThan(MOST_MB);
});

async function sendDataset(socket: Socket): Promise<void> {
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{"data":[');
  for (let id = 0; id < RECORDS; id += 500) {
    const records = Array.from({ length: 500 }, (_, n) => writeRecord(id + n));
    if (!socket.write((id === 0 ? '' : ',') + records.join(',')))
      await new Promise((resolve) => socket.once('drain', resolve));
  }
  socket.end(']}');
}

function writeRecord(id: number): string {
  const date = new Date(Date.UTC(2026, 0, 1 + (id % 28))).toISOString().slice(0, 10);
  const note = 'a sentence that fills the record up, as descriptions in real data do; '.repeat(2);
  return `{"id":${id},"date":"${date}","topic":"topic ${id % 50}","provider":"provider ${id % 7}","score":${id / 7},"meta":{"model":"m${id % 5}","rank":${id % 100}},"tags":["a","b${id % 3}"],"note":"${note}"}`;
}
