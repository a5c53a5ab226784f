import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePublishedRecord } from '../../state/published-record.ts';
import { findJointFaults, tryJoint } from '../../src/accounts/find-joint-faults.ts';
import { type JointPlaces, publishJoint } from '../../src/accounts/publish-joint.ts';
import type { AccountData } from '../../src/model/account.ts';
import { systemClock } from '../../src/model/clock.ts';
import { writeAccountFile, writeAccountLake } from '../support/account-files.ts';
import { makeFolder } from '../support/sync-harness.ts';

const TABLE = 'CREATE TABLE t AS SELECT 1 AS id';
const CHANGE = 'INSERT INTO t VALUES (2)';

/** A file of an account, and the record that its state folder has of it. */
async function publishFile(
  folder: string,
  account: string,
  { run, statement = TABLE }: { readonly run: number; readonly statement?: string },
): Promise<AccountData> {
  const stateDir = join(folder, 'state', account);
  mkdirSync(stateDir, { recursive: true });
  const data = { ...(await writeAccountFile(folder, account, statement)), stateDir };
  const generation = `${account}-run-${run} 000000000000`;
  writePublishedRecord(stateDir, { path: data.readersFile, device: 1, inode: 1, bornAtMs: 1, generation });
  return data;
}

function placesOf(folder: string, data: readonly AccountData[], catalog?: string) {
  const accounts = data.map(({ account: name }) => ({ name }));
  return { accounts, data, combined: join(folder, 'all.duckdb'), catalog };
}

async function makeFiles() {
  const folder = makeFolder();
  const data = [
    await publishFile(folder, 'acme', { run: 1 }),
    await publishFile(folder, 'globex', { run: 1 }),
  ];
  return { folder, places: placesOf(folder, data) };
}

const publish = (places: JointPlaces) => publishJoint(places, { clock: systemClock });
const details = async (places: JointPlaces) => (await findJointFaults(places)).map(({ detail }) => detail);

describe('the search for faults of a file with all accounts', () => {
  it('finds nothing before an account has published, and nothing after a sync', async () => {
    const { folder, places } = await makeFiles();
    const none = placesOf(
      folder,
      places.data.map((one) => ({ ...one, readersFile: join(folder, `no-${one.account}`) })),
    );
    expect(await findJointFaults(none)).toEqual([]);
    expect((await publish(places)).error).toBeUndefined();
    expect(await findJointFaults(places)).toEqual([]);
    expect(await findJointFaults({ ...places, combined: undefined })).toEqual([]);
  });

  it('names a file that is missing, with what writes it', async () => {
    const { places } = await makeFiles();
    await publish(places);
    rmSync(places.combined);
    expect(await findJointFaults(places)).toEqual([
      {
        path: places.combined,
        detail: `${places.combined}, with the data of all accounts, is missing: readers find no data`,
        fix: 'sluice sync publishes it; fresh streams cost no request.',
      },
    ]);
  });

  it('names the accounts that have published since it was written', async () => {
    const { folder, places } = await makeFiles();
    await publish(places);
    await publishFile(folder, 'globex', { run: 2, statement: CHANGE });
    expect(await details(places)).toEqual([
      `${places.combined}, with the data of all accounts, does not have what globex published last: it is written at the end of a sync`,
    ]);
    await publish(places);
    expect(await details(places)).toEqual([]);
  });

  it('names an account that was added', async () => {
    const { folder, places } = await makeFiles();
    await publish(places);
    const more = placesOf(folder, [...places.data, await publishFile(folder, 'initech', { run: 1 })]);
    expect(await details(more)).toEqual([expect.stringContaining('what initech published last')]);
  });

  it('says why a sync refuses a file of another program', async () => {
    const { places } = await makeFiles();
    writeFileSync(places.combined, 'a letter');
    const [fault] = await findJointFaults(places);
    expect(fault?.detail).toContain('was not written by Sluice, or is damaged; it is not replaced');
    expect(fault?.fix).toContain('Name another file in the config');
  });

  it('looks at lakes too, and at the views over them', async () => {
    const root = join(makeFolder(), 'lakes');
    const acme = await writeAccountLake(root, 'acme', [TABLE]);
    const globex = await writeAccountLake(root, 'globex', [TABLE]);
    const places = placesOf(root, [acme, globex], join(root, 'lake.duckdb'));
    expect((await publish(places)).error).toBeUndefined();
    expect(await details(places)).toEqual([]);
    await writeAccountLake(root, 'acme', [CHANGE]);
    expect(await details(places)).toEqual([
      expect.stringMatching(/lake\.duckdb, .* does not have what acme published last/),
      expect.stringMatching(/all\.duckdb, .* does not have what acme published last/),
    ]);
    expect((await publish(places)).error).toBeUndefined();
    expect(await details(places)).toEqual([]);
  });
});

describe('whether a sync could write a file with all accounts', () => {
  it('tries the file that is there and the folder, and writes nothing', async () => {
    const { folder, places } = await makeFiles();
    expect(await tryJoint(places)).toEqual([{ path: places.combined, error: undefined }]);
    writeFileSync(places.combined, 'a letter');
    expect(await tryJoint(places)).toMatchObject([
      {
        error: {
          code: 'publish_refused',
          exitCode: 2,
          message: expect.stringContaining('not replaced') as string,
        },
      },
    ]);
    const below = { ...places, combined: join(folder, 'acme.duckdb', 'all.duckdb') };
    expect(await tryJoint(below)).toMatchObject([
      {
        error: {
          code: 'publish_failed',
          message: expect.stringContaining('acme.duckdb is not a folder') as string,
        },
      },
    ]);
  });
});
