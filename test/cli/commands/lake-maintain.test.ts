import { expect, it } from 'vitest';
import type { MaintainReport } from '../../../src/model/reports.ts';
import { run } from '../support/capture.ts';

const report: MaintainReport = {
  destinations: [
    {
      destination: '/data/catalog.sqlite',
      title: 'DuckLake',
      outcome: 'maintained',
      bytesBefore: 20_000_000,
      bytesAfter: 5_000_000,
    },
    {
      destination: 'catalog.example.com wh.analytics',
      title: 'Iceberg',
      outcome: 'left to another engine',
    },
    { destination: '/data/new.sqlite', title: 'DuckLake', outcome: 'nothing is published' },
  ],
};
const maintainLakes = () => Promise.resolve(report);

it('says what became smaller, and what another engine has to do', async () => {
  const result = await run(['lake', 'maintain'], { engine: { maintainLakes } });
  expect(result.exitCode).toBe(0);
  expect(result.stdout).toContain(
    'DuckLake /data/catalog.sqlite: maintained; data files: 20.0 MB before, 5.0 MB now.',
  );
  expect(result.stdout).toContain('DuckDB cannot compact Iceberg');
  expect(result.stdout).toContain('/data/new.sqlite: nothing is published there yet.');
});

it('gives the same as JSON', async () => {
  const result = await run(['lake', 'maintain', '--json'], { engine: { maintainLakes } });
  expect(JSON.parse(result.stdout)).toMatchObject({ result: report });
});

it('has nothing to do without a lakehouse', async () => {
  const engine = { maintainLakes: () => Promise.resolve({ destinations: [] }) };
  const { exitCode, stdout } = await run(['lake', 'maintain'], { engine });
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Nothing to maintain');
});
