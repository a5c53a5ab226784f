import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const ENDLESS = 'FROM range(1000000000000)';

/** A folder with a config whose published file is there. */
async function createProject(): Promise<string> {
  const { database, file } = await openTempDatabase();
  await database.release();
  const folder = makeTempFolder();
  const source = { connector: 'analytics-read', baseUrl: 'http://127.0.0.1:1/api/v1' };
  // JSON is YAML.
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify({ source, destination: { duckdb: file } }));
  return folder;
}

/** What a reader lets through of a query's output and messages, then the exit code of the query. */
function pipeInto(cwd: string, reader: string, args: readonly string[]): string {
  const script = `exec 2>&1; "$@" | ${reader}; echo "\${PIPESTATUS[0]}"`;
  const node = [process.execPath, '--no-warnings', '--max-old-space-size=64'];
  return execFileSync('bash', ['-c', script, 'bash', ...node, cliEntry, 'query', ...args], {
    cwd,
    encoding: 'utf8',
  });
}

describe('a query as a process', () => {
  it.each([
    ['csv', 'range\r'],
    ['json', '[{"range":0},'],
    ['ndjson', '{"range":0}'],
    ['markdown', '| range |'],
  ])('ends with 0, and says nothing, once its reader has enough %s', async (format, first) => {
    const text = pipeInto(await createProject(), 'head -n 1', [ENDLESS, '--format', format]);
    expect(text).toBe(`${first}\n0\n`);
  });

  it('ends with 130 when it is stopped between two rows, and says that they are not all', async () => {
    const cwd = await createProject();
    const child = startNode(cliEntry, ['query', ENDLESS, '--format', 'ndjson'], { cwd });
    child.stdout?.once('data', () => child.kill('SIGINT'));
    const { exitCode, stderr } = await waitForEnd(child);
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(/^error: stopped by SIGINT\nThe output ends after [\d,]+ rows and is incomplete/);
  });

  it('writes more rows than its memory holds, and refuses them where it has to hold them', async () => {
    const cwd = await createProject();
    const sql = `SELECT range AS n, repeat('x', 200) || range AS t FROM range(400000)`;
    const ask = (...args: readonly string[]) => pipeInto(cwd, 'tail -n 2', [sql, ...args]);
    expect(ask('--format', 'csv')).toMatch(/^\d+,x+\d+\r\n\d+,x+\d+\r\n0\n$/);
    expect(ask()).toMatch(/^error: the result is too large for a table,.*\nNothing was printed\..*\n2\n$/);
    expect(ask('--json')).toContain('error: the result is too large for --json');
  });
});
