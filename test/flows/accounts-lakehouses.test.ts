import { once } from 'node:events';
import { cpSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import { type AccountsFlow, createAccountsFlow } from '../support/accounts-flow.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type LakeReader, openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { findExtensions, placeOf, type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { HOUR_MS, makeFolder } from '../support/sync-harness.ts';
import { expectEqual } from './lakehouse-suite.ts';

const NAMES = ['acme', 'globex', 'initech'];
const CHILD = join(import.meta.dirname, '..', 'support', 'lock-child.ts');

/** Every account as it ended: `acme 0`. */
function listEnds({ accounts }: AccountsReport): readonly string[] {
  return accounts.map(({ account, exitCode, error }) =>
    [account, exitCode, error?.message].filter((part) => part !== undefined).join(' '),
  );
}

describeWithServers('accounts that share a lakehouse, with a schema each', () => {
  let postgres: PostgresServer;
  let extensions = '';
  beforeAll(async () => {
    postgres = await startPostgres();
    // Without engine.extensionDirectory, each account has files of its own.
    extensions = makeFolder();
    for (const name of NAMES)
      for (const extension of ['ducklake', 'sqlite_scanner']) {
        const place = placeOf(extension);
        mkdirSync(dirname(join(extensions, name, place)), { recursive: true });
        cpSync(join(findExtensions() ?? '', place), join(extensions, name, place));
      }
  });
  afterAll(() => postgres.stop());

  function create(destination: object, concurrency: number, folder = findExtensions() ?? ''): AccountsFlow {
    return createAccountsFlow({
      names: NAMES,
      config: {
        concurrency,
        destination: { duckdb: './accounts/${account}.duckdb', ...destination },
        engine: { extensionDirectory: folder },
        streams: {
          visibility_mentions: { enabled: false },
          commerce_category_products: { enabled: false },
          commerce_top_products: { enabled: false },
        },
      },
    });
  }

  const sqlite = { ducklake: { catalog: 'sqlite:./catalog.sqlite', data: './data', schema: '${account}' } };
  const createOnSqlite = (concurrency: number) => create(sqlite, concurrency, `${extensions}/\${account}`);

  /** Syncs twice; afterwards the lakehouse has what each account published. */
  async function expectSynced(flow: AccountsFlow, open: () => Promise<LakeReader>): Promise<void> {
    for (const day of [1, 2]) {
      if (day > 1) {
        flow.simulator.advanceDay();
        await flow.clock.sleep(24 * HOUR_MS);
      }
      const report = await flow.sync();
      expect(listEnds(report), `day ${day}`).toEqual(['acme 0', 'globex 0', 'initech 0']);
      for (const schema of NAMES)
        await expectEqual({
          flow: { duckdbPath: join(flow.folder, 'accounts', `${schema}.duckdb`) },
          open,
          schema,
        });
    }
  }

  it.each([1, 4])('all publish into one SQLite catalog, %i at once', async (concurrency) => {
    const flow = createOnSqlite(concurrency);
    await expectSynced(flow, () => openLakeReader(`sqlite:${join(flow.folder, 'catalog.sqlite')}`));
  });

  it('all publish into one Postgres catalog with data on this machine', async () => {
    const catalog = await postgres.createDatabase('lake');
    const flow = create({ ducklake: { catalog, data: './data', schema: '${account}' } }, 4);
    await expectSynced(flow, () => openLakeReader(`postgres:${catalog}`));
  });

  it('all publish into one database of Postgres', async () => {
    const url = await postgres.createDatabase('tables');
    const flow = create({ postgres: { url, schema: '${account}' } }, 4);
    await expectSynced(flow, () =>
      openReader(['postgres_scanner'], [`ATTACH '${url}' AS lake (TYPE postgres, READ_ONLY)`]),
    );
  });

  it('are refused before a request while another process publishes to the catalog', async () => {
    const flow = createOnSqlite(2);
    const child = startNode(CHILD, [join(realpathSync(flow.folder), 'catalog.sqlite')]);
    const ended = waitForEnd(child);
    await once(child.stdout ?? child, 'data');
    const report = await flow.sync();
    expect(report.exitCode).toBe(75);
    expect(report.accounts.map(({ exitCode, error }) => [exitCode, error?.code])).toEqual(
      NAMES.map(() => [75, 'state_locked']),
    );
    expect(flow.simulator.log).toEqual([]);
    child.kill('SIGKILL');
    await ended;
    expect(listEnds(await flow.sync())).toEqual(['acme 0', 'globex 0', 'initech 0']);
  });
});
