import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createLineWriter } from '../../src/cli/clients/line-writer.ts';
import { createOutput } from '../../src/cli/terminal/output.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { createWorld } from './support/capture.ts';

/** Like the stdout of a process: it is never destroyed, and an error comes later than the write that it is of. */
class PipeEnd extends EventEmitter {
  readonly writableLength = 0;

  write(): boolean {
    setImmediate(() => this.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })));
    return true;
  }
}

function createPipe() {
  const { context } = createWorld();
  const stdout = new PipeEnd();
  const output = createOutput({ stdout, stderr: stdout, env: {}, mask: (text) => text });
  return createLineWriter({ ...context, output });
}

const gone = 'the program that reads the rows has closed its end';

describe('lines for a program that has closed its end', () => {
  it('fail from the next one on', async () => {
    const lines = createPipe();
    await lines.write('one\n');
    await new Promise((resolve) => setImmediate(resolve));
    await expect(lines.write('two\n')).rejects.toThrow(gone);
    await expect(lines.writeJson({})).rejects.toMatchObject({ code: 'storage_failed', exitCode: 6 });
  });

  it('fail at the end where they were the last', async () => {
    const lines = createPipe();
    await lines.write('one\n');
    await expect(lines.finish()).rejects.toThrow(gone);
  });

  it('end the process with 6 and a sentence, and what people read ends quietly', () => {
    const pipe = (...args: readonly string[]) => {
      // The reader has ended before the first line is written.
      const script = 'exec 2>&1 3> >(:); wait $!; "$@" >&3; echo "$?"';
      const command = ['-c', script, 'bash', process.execPath, '--no-warnings', cliEntry];
      return execFileSync('bash', [...command, ...args], { encoding: 'utf8' });
    };
    const failed = pipe('airbyte', 'spec');
    expect(failed).toContain(gone);
    expect(failed).toMatch(/\n6\n$/);
    expect(pipe('--help')).toBe('0\n');
  });
});
