import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkEqual } from '../compare.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

/** Accounts whose new keys return other rows: nothing is mixed until somebody says that it is the same account. */
export async function proveNewKey({ stage, verdicts }: PartRun): Promise<void> {
  const scene = await Scene.open(stage, {
    name: 'new-key',
    accounts: { 'client-1': 'duckdb', 'client-2': 'ducklake' },
    leaseS: 8,
    api: {
      limits: { requests: 600, windowMs: 60_000 },
      counts: { mentions: 40, prompts: 60, categories: 30, products: 30 },
    },
  });
  try {
    const machine = scene.startMachine(2);
    await scene.waitFor('every account to be clean', () => scene.areClean(1));
    const before = await scene.fingerprints();
    scene.readAgain();
    for (const account of scene.accounts)
      writeFileSync(join(scene.project, 'keys', account), `0f1e2d3c4b5a69788796a5b4-${account.at(-1) ?? ''}`);
    await scene.run(['fleet', 'run', 'client-1,client-2']);
    await scene.waitFor('both to be refused', async () => {
      const [row] = await scene.ask(
        `SELECT count(DISTINCT account) = 2 AS done FROM sluice_fleet.runs WHERE exit_code = 2`,
      );
      return row?.['done'] === true;
    });
    const errors = await scene.ask(
      `SELECT account, last_error ->> 'code' AS code, last_error ->> 'message' AS message, last_error ->> 'hint' AS hint
         FROM sluice_fleet.accounts ORDER BY account`,
    );
    for (const { account, code, message, hint } of errors) {
      const isOfFleet =
        String(hint).includes(`\`sluice fleet run ${String(account)} --accept-new-key\``) &&
        !/state reset|sluice sync|sluice-fleet/.test(`${String(message)}${String(hint)}`);
      verdicts.check(
        `${String(account)} is refused with advice for a fleet`,
        code === 'identity_mismatch' && isOfFleet,
        `${String(message)} ${String(hint)}`,
      );
    }
    await checkEqual(scene, verdicts, before);
    const all = await scene.run(['fleet', 'run', '*', '--accept-new-key']);
    verdicts.check('no pattern accepts keys', all.exitCode === 2, all.stderr);
    const accepted = await scene.run(['fleet', 'run', 'client-2', '--accept-new-key']);
    verdicts.check('a named account accepts its own', accepted.exitCode === 0, accepted.stderr);
    // The other advice: it begins without anything.
    await scene.run(['fleet', 'pause', 'client-1']);
    rmSync(join(scene.project, 'accounts', 'client-1.duckdb'));
    await scene.run(['fleet', 'repair', 'client-1', '--forget-state']);
    await scene.run(['fleet', 'run', 'client-1']);
    await scene.waitFor('both to be clean again', () => scene.areClean(2));
    await checkEqual(scene, verdicts, (await scene.syncUndisturbed(1)).prints);
    const [left] = await scene.ask('SELECT bool_or(accepts_new_key) AS any FROM sluice_fleet.accounts');
    verdicts.check('the next key has to be accepted by itself', left?.['any'] === false);
    await machine.kill();
  } finally {
    await scene.close();
  }
}
