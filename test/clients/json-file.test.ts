import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJsonFile } from '../../src/cli/clients/json-file.ts';
import type { CliContext } from '../../src/cli/frame/context.ts';
import { catchConfigError } from '../config/support.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const contextIn = (cwd: string) => ({ cwd }) as unknown as CliContext;

describe('a file of JSON from another program', () => {
  it('is named as what it is where it is not text', () => {
    const cwd = makeTempFolder();
    writeFileSync(join(cwd, 'w.duckdb'), Buffer.from([0x44, 0xff, 0]));
    const error = catchConfigError(() => readJsonFile(contextIn(cwd), 'catalog', 'w.duckdb'));
    expect(error.message).toBe('the catalog file w.duckdb is not UTF-8 text');
    expect(error.hint).toBe(
      'It must be a text file of JSON, in UTF-8. Check the path. Nothing was requested.',
    );
  });

  it.skipIf(process.platform === 'win32')('may be a pipe', () => {
    const cwd = makeTempFolder();
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    spawn('sh', ['-c', 'sleep 0.1; echo "{}" > pipe'], { cwd });
    expect(readJsonFile(contextIn(cwd), 'state', 'pipe')).toEqual({});
  });
});
