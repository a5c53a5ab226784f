/** What an account may be called: its name becomes part of paths, so no name can leave its folder. */
export const ACCOUNT_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const MOST_SHOWN = 80;

/** What is wrong with a name that is not one, and what to write instead. */
export function accountNameMessage(name: string): string {
  const shown = name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name;
  const rule = 'write 1 to 63 lower-case letters, digits, - and _, beginning with a letter or a digit';
  return `${JSON.stringify(shown)} is not an account name: ${rule}`;
}

/** What lies in a folder; links are not followed. */
export type EntryKind = 'file' | 'folder' | 'symlink';

/** Where readers find the data of one account. */
export interface AccountData {
  readonly account: string;
  /** Absolute path of the DuckDB file that readers open: the published file, or the lake's `lake.duckdb`. */
  readonly readersFile: string;
  /** Absolute path of the folder of its Parquet lake; undefined if it publishes none. */
  readonly lake: string | undefined;
  /** Absolute path of its state folder, which says what it has published; undefined where that is not known. */
  readonly stateDir?: string | undefined;
}

/** What an account reads with. */
export interface AccountSource {
  readonly name: string;
  /** Names its key; reveals nothing of it. */
  readonly key: string;
  /** Names all that its streams ask for, as the config is now. */
  readonly asks: string;
  /** What they asked for when its rows were read last; undefined without rows, or where that is not known. */
  readonly asked?: string | undefined;
  /** The user accepted that another account has the same key and asks for the same. */
  readonly shares?: boolean | undefined;
  /** Rows were read with this key; else it is the key with which they would be. */
  readonly isSynced: boolean;
}

/** An account of a config that has several. */
export interface AccountOfConfig {
  readonly name: string;
  /** All accounts, also this one, by key: the same value for each of them. */
  readonly byKey: ReadonlyMap<string, readonly AccountSource[]>;
  /** Its state is in the store of a fleet, which has commands of its own. */
  readonly isOfFleet?: true;
}
