/**
 * Keeps whole files by name, for machines that share nothing else: a bucket, a folder, a database. A name is used once, and
 * what it names never changes.
 */
export interface StateStore {
  /** The place as people see it, without secrets. */
  readonly place: string;
  /**
   * Stores a file, whole or not at all; a repeated call with the same file does no harm.
   *
   * @param file absolute path
   * @throws StorageError (6) if the store cannot be reached, is full, or refuses
   */
  put(name: string, file: string): Promise<void>;
  /**
   * Writes an object to a file, mode 0600.
   *
   * @returns false if there is no such object
   * @throws StorageError (6)
   */
  get(name: string, file: string): Promise<boolean>;
  /** The objects whose names begin with this text, in any order. Throws StorageError (6). */
  list(prefix: string): Promise<readonly StoredObject[]>;
  /** Names that are not there are no error. Throws StorageError (6). */
  remove(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** An object of a store. */
export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
  /** Epoch ms, by the clock of the store. */
  readonly storedAtMs: number;
}
