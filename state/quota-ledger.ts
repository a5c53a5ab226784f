import { createHash } from 'node:crypto';
import { makeFolders } from '../src/files/make-folders.ts';
import { closeSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  initialQuotaState,
  parseQuotaState,
  type QuotaChange,
  type QuotaState,
  type QuotaStore,
} from '../src/model/quota.ts';
import { createMemoryQuotaStore } from './memory-quota-store.ts';

/** Version of the file; files of later versions are not touched. */
const FILE_VERSION = 1;

// Updates take well under a millisecond: a process that holds the file longer than this is stuck.
const BUSY_TIMEOUT_MS = 5_000;

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/**
 * Name for a key's ledger that reveals nothing about the key: SHA-256 of key and base URL, truncated to 80 bits.
 * Processes with the same key and base URL share one quota, whatever else is in their configs.
 */
export function hashKey(secret: string, baseUrl: string | URL): string {
  const { origin, pathname } = new URL(baseUrl);
  const api = `${origin}${pathname.replace(/\/+$/, '')}`;
  return createHash('sha256').update(`sluice quota\n${api}\n${secret}`).digest('hex').slice(0, 20);
}

/**
 * Opens the quota state of one key, shared by all processes and containers on this machine that open the same folder.
 * Never throws: if the folder cannot be used, the state is in memory and a `warning` is set; a damaged file is set
 * aside; a file of a later version is left unchanged. In each case the state starts empty.
 */
export function openQuotaLedger(options: { readonly dir: string; readonly keyHash: string }): QuotaStore {
  const path = join(options.dir, `quota-${options.keyHash}.db`);
  try {
    makeFolders(options.dir, 0o700);
    return new QuotaLedger(path, openFile(path), undefined);
  } catch (error) {
    if (!isDamaged(error)) return createMemoryQuotaStore({ warning: describeUnshared(path, error) });
  }
  try {
    const keptAs = setAside(path);
    const warning = `the quota ledger was damaged; it is kept as ${keptAs}, and a new one was started`;
    return new QuotaLedger(path, openFile(path), warning);
  } catch (error) {
    return createMemoryQuotaStore({ warning: describeUnshared(path, error) });
  }
}

/** The state as one JSON row of a SQLite file: SQLite's lock is released when its process ends. */
class QuotaLedger implements QuotaStore {
  warning: string | undefined;
  readonly #path: string;
  readonly #file: LedgerFile;
  /** The state last read or written, with its revision: it is parsed again only if another process wrote it. */
  #known = { revision: -1, state: initialQuotaState() };
  #fallback: QuotaStore | undefined;

  constructor(path: string, file: LedgerFile, warning: string | undefined) {
    this.#path = path;
    this.#file = file;
    this.warning = warning;
  }

  /** The file is read and written before this returns: nothing of this process comes in between. */
  update<T>(change: QuotaChange<T>): Promise<T> {
    return new Promise((resolve) => {
      resolve(this.#fallback?.update(change) ?? this.#update(change));
    });
  }

  #update<T>(change: QuotaChange<T>): T | Promise<T> {
    let revision: number;
    let before: QuotaState;
    try {
      this.#file.begin.run();
      ({ revision, state: before } = this.#read());
    } catch (error) {
      return this.#goOnInMemory(this.#known.state, error).update(change);
    }
    const changed = this.#changeOrRollBack(() => change(before));
    try {
      if (changed.state === before) {
        this.#file.rollback.run();
        this.#known = { revision, state: before };
      } else {
        this.#file.write.run(JSON.stringify(changed.state));
        this.#file.commit.run();
        this.#known = { revision: revision + 1, state: changed.state };
      }
    } catch (error) {
      this.#goOnInMemory(changed.state, error);
    }
    return changed.result;
  }

  close(): Promise<void> {
    this.#fallback ??= createMemoryQuotaStore({ state: this.#known.state });
    if (this.#file.db.isOpen) this.#file.db.close();
    return Promise.resolve();
  }

  #read(): { readonly revision: number; readonly state: QuotaState } {
    const { revision } = this.#file.readRevision.get() as { revision: number };
    if (revision === this.#known.revision) return this.#known;
    const { state: text } = this.#file.readState.get() as { state: string };
    const state = parseQuotaState(text);
    if (state !== undefined) return { revision, state };
    if (revision > 0) this.warning = `the quota ledger ${this.#path} held no valid state and was reset`;
    return { revision, state: initialQuotaState() };
  }

  #changeOrRollBack<T>(change: () => T): T {
    try {
      return change();
    } catch (error) {
      this.#file.rollback.run();
      throw error;
    }
  }

  /** After a disk error the known state continues to apply, for this process only. */
  #goOnInMemory(state: QuotaState, error: unknown): QuotaStore {
    try {
      if (this.#file.db.isTransaction) this.#file.rollback.run();
      this.#file.db.close();
    } catch {
      // Nothing to save: the file itself failed.
    }
    this.warning = describeUnshared(this.#path, error);
    this.#fallback = createMemoryQuotaStore({ state });
    return this.#fallback;
  }
}

interface LedgerFile {
  readonly db: DatabaseSync;
  readonly begin: StatementSync;
  readonly readRevision: StatementSync;
  readonly readState: StatementSync;
  readonly write: StatementSync;
  readonly commit: StatementSync;
  readonly rollback: StatementSync;
}

function openFile(path: string): LedgerFile {
  createPrivately(path);
  // Loaded lazily: it costs start time, and Node 22 prints a warning.
  const sqlite = process.getBuiltinModule('node:sqlite');
  const db = new sqlite.DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // A rollback journal needs only file locks; WAL needs memory shared between containers. Without fsync a kill
    // loses nothing, and after a power failure one request relearns the quota.
    db.exec('PRAGMA journal_mode = PERSIST; PRAGMA synchronous = OFF; BEGIN IMMEDIATE');
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (version > FILE_VERSION) throw new Error(`it was written by a later version of Sluice (${version})`);
    db.exec(`
      PRAGMA user_version = ${FILE_VERSION};
      CREATE TABLE IF NOT EXISTS ledger (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        revision INTEGER NOT NULL,
        state TEXT NOT NULL
      ) STRICT;
      INSERT OR IGNORE INTO ledger VALUES (1, 0, '');
      COMMIT;
    `);
    return {
      db,
      begin: db.prepare('BEGIN IMMEDIATE'),
      readRevision: db.prepare('SELECT revision FROM ledger WHERE id = 1'),
      readState: db.prepare('SELECT state FROM ledger WHERE id = 1'),
      write: db.prepare('UPDATE ledger SET revision = revision + 1, state = ? WHERE id = 1'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Creates the file with mode 0600 before SQLite opens it: its journal then gets the same mode. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Moves a damaged file away; if another process was faster, its new file stays. */
function setAside(path: string): string {
  const keptAs = `${path}.damaged-${statSync(path).ino}`;
  try {
    openFile(path).db.close();
    return keptAs;
  } catch (error) {
    if (!isDamaged(error)) throw error;
  }
  renameSync(path, keptAs);
  // A journal of the damaged file must not be replayed into the new one.
  rmSync(`${path}-journal`, { force: true });
  return keptAs;
}

function isDamaged(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown }).errcode;
  return typeof code === 'number' && [SQLITE_CORRUPT, SQLITE_NOTADB].includes(code & 0xff);
}

function describeUnshared(path: string, error: unknown): string {
  const cause = error instanceof Error ? error.message : String(error);
  return `the quota ledger ${path} cannot be used (${cause}): other processes with this key are not seen, and only the server's headers limit them together; set source.quota.ledgerDir to a folder that every process with this key can write`;
}
