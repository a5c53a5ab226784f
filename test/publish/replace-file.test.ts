import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { replaceFile } from '../../src/publish/duckdb-file/replace-file.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-replace-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});

it('says that the published file is unchanged only where there is one', async () => {
  const target = join(root, 'warehouse.duckdb');
  const fail = () =>
    replaceFile(join(root, 'no-work.duckdb'), target, { runId: 'r', warn: () => undefined }, () =>
      Promise.resolve(),
    );
  await expect(fail()).rejects.toMatchObject({
    code: 'publish_failed',
    hint: expect.stringContaining('; nothing is published there yet.') as string,
  });
  writeFileSync(target, 'old');
  await expect(fail()).rejects.toMatchObject({
    hint: expect.stringContaining(', and the published file is unchanged.') as string,
  });
});
