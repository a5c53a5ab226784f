import type { PgBoss } from 'pg-boss';
import { loadPgBoss } from './packages.ts';
import type { FleetDatabase, Sql } from './sql.ts';

/** The queue with the accounts that are due, in pg-boss's own tables. */
export const QUEUE = 'sluice-accounts';

/** pg-boss's schema. */
const BOSS_SCHEMA = 'sluice_pgboss';

/** pg-boss gives up what is active for longer, at most a day; leases decide long before. */
const EXPIRE_SECONDS = 23 * 3_600;
/** How long ended jobs can be looked at. */
const KEEP_SECONDS = 3 * 24 * 3_600;

/** A job: an account that is due. */
export interface QueuedAccount {
  readonly account: string;
  readonly priority: number;
}

/** A job that a worker took. */
export interface TakenJob {
  readonly id: string;
  readonly account: string;
}

/**
 * Hands out accounts that are due, once each. It decides nothing: whether an account may be synced is in the table of
 * accounts, so that a job that is lost or comes twice does no harm.
 */
export class AccountQueue {
  readonly #boss: PgBoss;

  private constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  /** Makes pg-boss's tables, or brings them up to date, and the queue. */
  static async migrate(database: FleetDatabase): Promise<void> {
    const boss = await create(database, true);
    await boss.start();
    try {
      const options = {
        retryLimit: 0,
        expireInSeconds: EXPIRE_SECONDS,
        deleteAfterSeconds: KEEP_SECONDS,
      } as const;
      if ((await boss.getQueue(QUEUE)) === null)
        await boss.createQueue(QUEUE, { policy: 'exclusive', ...options });
      else await boss.updateQueue(QUEUE, options);
    } finally {
      await boss.stop({ graceful: false });
    }
  }

  /** Starts the queue of a worker, with pg-boss's upkeep of its own tables. */
  static async open(database: FleetDatabase, onError: (error: Error) => void): Promise<AccountQueue> {
    const boss = await create(database, false);
    boss.on('error', onError);
    await boss.start();
    return new AccountQueue(boss);
  }

  /** Adds accounts; one that is queued or at work already is left as it is. */
  async add(sql: Sql, accounts: readonly QueuedAccount[]): Promise<void> {
    if (accounts.length === 0) return;
    const jobs = accounts.map(({ account, priority }) => ({
      data: { account },
      singletonKey: account,
      priority,
    }));
    const db = toBossDb(sql);
    await this.#boss.insert(QUEUE, jobs, { db });
    // Those that were queued before somebody asked for them come first as well.
    for (const { account, priority } of accounts)
      if (priority > 0)
        await this.#boss.update(QUEUE, undefined, { singletonKey: account, priority, match: 'all', db });
  }

  /** Takes the first jobs; they are back in the queue if the transaction is rolled back. */
  async take(sql: Sql, most: number): Promise<readonly TakenJob[]> {
    const jobs = await this.#boss.fetch<{ readonly account: string }>(QUEUE, {
      batchSize: most,
      db: toBossDb(sql),
    });
    return jobs.map(({ id, data }) => ({ id, account: data.account }));
  }

  /** Ends a job; for one that has ended already, nothing happens. */
  async complete(sql: Sql, id: string, outcome: object): Promise<void> {
    await this.#boss.complete(QUEUE, id, outcome, { db: toBossDb(sql) });
  }

  /** Removes jobs whose workers are gone, so that their accounts can be queued again. */
  async remove(sql: Sql, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.deleteJob(QUEUE, [...ids], { db: toBossDb(sql) });
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false });
  }
}

async function create(database: FleetDatabase, migrates: boolean): Promise<PgBoss> {
  const { PgBoss } = await loadPgBoss();
  return new PgBoss({
    db: toBossDb(database),
    schema: BOSS_SCHEMA,
    migrate: migrates,
    createSchema: migrates,
    supervise: !migrates,
    schedule: false,
  });
}

/** pg-boss runs its statements where the caller says. */
function toBossDb(sql: Sql) {
  return {
    async executeSql(text: string, values: unknown[] = []) {
      return { rows: [...(await sql.query(text, values))] };
    },
  };
}
