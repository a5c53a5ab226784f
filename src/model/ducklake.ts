/** What a run changed in a DuckLake. */
export interface PublishedDuckLake {
  /** As its destination is shown. */
  readonly path: string;
  /** Tables with other rows or columns than before, those of the state as well. */
  readonly tables: number;
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
}

/** Tables in a DuckLake: a catalog in a database, and data files in a folder or a bucket. */
export interface DuckLakeDestination {
  readonly kind: 'ducklake';
  /** The catalog as people see it, without a password, and the schema where it is not `main`. */
  readonly path: string;
  readonly catalog: LakeCatalog;
  /** Where the data files lie: an absolute folder, or `s3://bucket/prefix`; without a slash at the end. */
  readonly data: string;
  readonly schema: string;
  readonly store: ObjectStore;
  readonly extensions: ExtensionFolder;
}

export type LakeCatalog =
  /** A file of this machine, absolute. */
  { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: URL };

/** How an object store is reached; what is not said is found as the store's own tools find it. */
export interface ObjectStore {
  readonly endpoint?: URL | undefined;
  readonly region?: string | undefined;
  readonly urlStyle?: 'path' | 'vhost' | undefined;
  /** Undefined: the standard chain of credentials (environment, profile, role of the machine). */
  readonly keys?: { readonly keyId: string; readonly secret: string } | undefined;
}

/** Where the engine finds its extensions. */
export interface ExtensionFolder {
  /** Absolute; it has a folder per version and platform, e.g. `v1.5.5/linux_amd64`. */
  readonly folder: string;
  /** Whether missing ones are downloaded into it. */
  readonly installs: boolean;
}

/** Secrets of destinations, which no output may show. */
export function listDestinationSecrets(
  destinations: readonly (DuckLakeDestination | { readonly kind: 'duckdb' | 'parquet' })[],
): readonly string[] {
  return destinations.flatMap((one) => (one.kind === 'ducklake' ? listLakeSecrets(one) : []));
}

/** The same of a lake. */
export function listLakeSecrets({ catalog, store }: DuckLakeDestination): readonly string[] {
  const written = catalog.kind === 'postgres' ? catalog.url.password : '';
  return [written, decodeURIComponent(written), store.keys?.secret ?? ''].filter((text) => text !== '');
}
