import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findTarget } from '../../../src/cli/steps/report-file.ts';
import { REPORT_START } from '../../../src/model/report-data.ts';
import { renderDictionary } from '../../../src/report/render-dictionary.ts';
import { makeDictionary, makeTable } from '../../report/make-dictionary.ts';
import { run } from '../support/capture.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});

const made = renderDictionary({
  madeAt: '2026-11-20T14:07:00.000Z',
  version: '9.9.9',
  accounts: [{ account: undefined, dictionary: makeDictionary([makeTable()]), error: undefined }],
});
const engine = { makeDictionary: () => Promise.resolve(made) };
const makeCwd = () => mkdtempSync(join(root, 'case-'));

describe('docs', () => {
  it('writes one file, and says what is in it', async () => {
    const cwd = makeCwd();
    const { exitCode, stdout } = await run(['docs'], { engine, cwd });
    expect(exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'docs.html'), 'utf8')).toBe(made.html);
    expect(stdout).toMatch(
      /^Wrote docs\.html \(.*\)\n1 table with 3 columns, 1 of them with a description\.\n$/,
    );
  });

  it('says so in a sentence where nothing is published yet', async () => {
    const engine = {
      makeDictionary: () => Promise.resolve({ ...made, summary: 'nothing is published yet' }),
    };
    const { stdout } = await run(['docs'], { engine, cwd: makeCwd() });
    expect(stdout).toMatch(/^Wrote docs\.html \(.*\)\nNothing is published yet\.\n$/);
  });

  it('gives the structure to programs', async () => {
    const cwd = makeCwd();
    const { stdout } = await run(['docs', '--json', '--output', 'x.html'], { engine, cwd });
    const { result } = JSON.parse(stdout) as { readonly result: Record<string, unknown> };
    expect(result).toMatchObject({
      path: join(cwd, 'x.html'),
      accounts: [{ dictionary: { tables: [{ table: 'prompts_analytics', rows: 12_400 }] } }],
    });
  });

  it('replaces its own page, and leaves that of a report alone as a report leaves it alone', async () => {
    const cwd = makeCwd();
    const page = join(cwd, 'page.html');
    writeFileSync(page, `${REPORT_START}report`);
    const { exitCode, stderr } = await run(['docs', '--output', page], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('is not a page that `sluice docs` wrote; it was not touched');
    expect(readFileSync(page, 'utf8')).toBe(`${REPORT_START}report`);
    await run(['docs'], { engine, cwd });
    expect((await run(['docs'], { engine, cwd })).exitCode).toBe(0);
    await expect(findTarget(cwd, 'docs.html')).rejects.toThrow('`sluice report` wrote');
  });

  it('leaves a file of somebody else alone', async () => {
    const cwd = makeCwd();
    writeFileSync(join(cwd, 'docs.html'), 'mine');
    const { exitCode, stderr } = await run(['docs'], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('was not touched');
    expect(readFileSync(join(cwd, 'docs.html'), 'utf8')).toBe('mine');
  });
});
