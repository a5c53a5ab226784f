import type { SqlSession } from '../model/sql.ts';

/** Alias of the attached file in all our statements. */
export const ATTACHED = 'work';

/** In place of a file: a database in memory, gone once it is released. */
export const MEMORY_FILE = ':memory:';

/** Where an engine has its extensions. */
export interface EngineExtensions {
  /** Absolute path. */
  readonly folder: string;
  /** Whether their signatures were checked before, in this process: the engine does not check them again. */
  readonly areChecked: boolean;
}

export interface DatabaseOptions {
  /** Absolute path, or `MEMORY_FILE`. */
  readonly file: string;
  readonly readOnly?: boolean;
  /** Whether the size of the file tells how much there is to do with it. */
  readonly isSizedByFile?: boolean;
  /**
   * The only folders that the engine may access in addition to the files; the first one (by default one in /tmp) holds
   * spill files. A read-only file without folders is all that the engine can access, and it cannot spill.
   */
  readonly folders: readonly string[];
  /** Folders with the files that a reader's views select from. */
  readonly views?: readonly string[] | undefined;
  /** Whether this is the published file: if damaged, it is published again instead of restored. */
  readonly isPublished?: boolean;
  /** Alias of the file in user statements; ours use `work`. */
  readonly alias?: string | undefined;
  /** Attaches the other files that statements need: the engine opens no file afterwards. */
  readonly attachMore?: ((session: SqlSession) => Promise<void>) | undefined;
  /** None are loaded without it. */
  readonly extensions?: EngineExtensions | undefined;
  /** No statement runs once it is aborted, whatever `proceed` allows. */
  readonly endedBy?: AbortSignal | undefined;
  /** Called each time that the engine was closed. */
  readonly onClosed?: (() => void) | undefined;
}

/** How a file is attached, as SQL. */
export function describeAttach({ file, readOnly = false }: DatabaseOptions): string {
  if (file === MEMORY_FILE) return '';
  // With an explicit storage version, engine upgrades do not change which readers can open the file.
  return readOnly ? '(READ_ONLY)' : "(STORAGE_VERSION 'v1.4.0')";
}
