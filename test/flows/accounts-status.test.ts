import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAccountsFlow } from '../support/accounts-flow.ts';
import { HOUR_MS } from '../support/sync-harness.ts';

/** Nobody can read it, not even root. */
function closePlace(path: string): void {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(path, path);
}

it('status of a state folder that cannot be read says so, and not that nothing was synced', async () => {
  const flow = createAccountsFlow({ names: ['acme', 'closed', 'unseen'] });
  await flow.sync();
  closePlace(join(flow.folder, '.sluice/closed'));
  rmSync(join(flow.folder, 'accounts/closed.duckdb'));
  closePlace(join(flow.folder, '.sluice/unseen/runs.json'));
  const { stdout, exitCode } = await flow.run(['status']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^closed +not readable +- /m);
  expect(stdout).toMatch(/^unseen +verified +4 of 4 verified .* not readable$/m);
  expect(stdout).toContain('closed: the state folder');
  expect(stdout).toContain('unseen: the state folder cannot be read: ELOOP');
  const one = await flow.run(['status', '--accounts', 'unseen']);
  expect(one.stdout).toContain('Last: not known, because this user cannot read the state folder: ELOOP');
  expect((await flow.run(['status', '--accounts', 'closed'])).exitCode).toBe(6);
});

it('runs of a state folder that cannot be read are those that were published, or an error', async () => {
  const flow = createAccountsFlow({ names: ['acme', 'closed'] });
  await flow.sync();
  closePlace(join(flow.folder, '.sluice/acme/runs.json'));
  closePlace(join(flow.folder, '.sluice/closed'));
  rmSync(join(flow.folder, 'accounts/closed.duckdb'));
  const published = await flow.run(['runs', '--accounts', 'acme']);
  expect(published.exitCode).toBe(0);
  expect(published.stdout).toContain('Only published runs are shown');
  for (const id of [[], ['some-run']]) {
    const closed = await flow.run(['runs', ...id, '--accounts', 'closed']);
    expect(closed.exitCode).toBe(6);
    expect(`${closed.stdout}${closed.stderr}`).toContain('cannot be read: ELOOP');
  }
});

it('status says why the last sync of an account was refused', async () => {
  const flow = createAccountsFlow({ names: ['acme', 'wrong'] });
  await flow.sync();
  await flow.clock.sleep(HOUR_MS);
  flow.writeConfig(['acme', 'wrong'], { wrong: { streems: {} } });
  await flow.sync();
  flow.writeConfig(['acme', 'wrong'], {});
  const { stdout } = await flow.run(['status']);
  expect(stdout).toMatch(/^wrong +refused /m);
  expect(stdout).toMatch(/^wrong: .*streems/m);
});
