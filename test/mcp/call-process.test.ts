import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CallProcess } from '../../src/mcp/call-process.ts';
import { Database } from '../../src/warehouse/database.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const { signal } = new AbortController();
const open: CallProcess[] = [];
afterEach(() => {
  for (const calls of open.splice(0)) calls.close();
});

/** A process with a program of the test, which has `question` and may call `answer`. */
function startProgram(onQuestion: string): CallProcess {
  const file = join(makeTempFolder(), 'program.mjs');
  const begin = `
    const answer = (text, isLast = false) =>
      process.send({ answer: { content: [{ type: 'text', text }] }, isLast });
    process.on('disconnect', () => process.exit());
    process.on('message', (question) => {`;
  writeFileSync(file, `${begin}${onQuestion}});`);
  const calls = new CallProcess({ file, args: [], env: process.env, mostBytes: 2 ** 30 });
  open.push(calls);
  return calls;
}

const ask = (calls: CallProcess, input: unknown, stop: AbortSignal = signal) =>
  calls.answer({ name: 'query' }, input, stop).then(({ content }) => content[0]?.text);

describe('the process that answers calls', () => {
  it('answers one call after the other, until it has grown too large', async () => {
    const calls = startProgram(
      `answer(question.tool + question.input + ' ' + process.pid, question.input === 2)`,
    );
    const [first, second, third] = [await ask(calls, 1), await ask(calls, 2), await ask(calls, 3)];
    expect([first, second, third].map((text) => text?.split(' ')[0])).toEqual(['query1', 'query2', 'query3']);
    expect(first?.split(' ')[1]).toBe(second?.split(' ')[1]);
    expect(third?.split(' ')[1]).not.toBe(second?.split(' ')[1]);
  });

  it('is ended with a call that is stopped, and the next call is answered', async () => {
    const calls = startProgram(`if (question.input !== 'endless') answer('here'); else for (;;);`);
    const stop = new AbortController();
    const endless = ask(calls, 'endless', stop.signal);
    stop.abort(new Error('too long'));
    await expect(endless).rejects.toThrow();
    await expect(ask(calls, 'quick')).resolves.toBe('here');
    await expect(ask(calls, 'quick', stop.signal)).rejects.toThrow();
  });

  it('says that a call took too much memory, and the next call is answered', async () => {
    const calls = startProgram(
      `if (question.input === 'large') process.kill(process.pid, 'SIGKILL'); else answer('here');`,
    );
    await expect(ask(calls, 'large')).rejects.toThrow(
      'the call took more memory than 1.1 GB, so it was ended',
    );
    await expect(ask(calls, 'small')).resolves.toBe('here');
  });

  it('says how it ended otherwise', async () => {
    const calls = startProgram(`process.exit(7)`);
    await expect(ask(calls, 1)).rejects.toThrow('the process that answers calls ended with exit code 7');
  });
});

describe('a query of an assistant', () => {
  it('cannot take more memory than there is for it', async () => {
    const folder = makeTempFolder();
    const file = join(folder, 'warehouse.duckdb');
    const database = await Database.open({ file, folders: [] });
    await database.run('CREATE TABLE work.main.items (id BIGINT)');
    await database.release();
    const config = join(folder, 'sluice.yaml');
    const source = { connector: 'analytics-read', baseUrl: 'https://127.0.0.1/v1', apiKey: '${KEY:-none}' };
    writeFileSync(config, JSON.stringify({ source, destination: { duckdb: file } }));
    const mostBytes = 300 * 2 ** 20;
    const calls = new CallProcess({
      file: join(import.meta.dirname, '../../src/cli/mcp-main.ts'),
      args: [JSON.stringify({ globals: { config }, mostBytes })],
      env: process.env,
      mostBytes,
    });
    open.push(calls);
    const sql = `SELECT repeat('x', 10_000_000) FROM range(1000)`;
    await expect(ask(calls, { sql })).rejects.toThrow('the call took more memory than 315 MB');
    await expect(ask(calls, { sql: 'SELECT 41 + 1 AS n' })).resolves.toContain('{"n":42}');
  });
});
