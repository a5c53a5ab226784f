import { z } from 'zod';

/** A path in a config, as written. */
export const filePath = z
  .string()
  .regex(/\S/, 'must name a file or folder')
  // A NUL byte would fail the run with an error of Node that names no setting.
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

const schemaName = z
  .string()
  .regex(/^[a-z0-9_][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, _ and -, at most 63');

/** Postgres cuts names at 63 bytes, and that of the state has `_sluice_` before this one. */
const POSTGRES_SCHEMA_LENGTH = 55;

/** Where a config publishes. */
export const destinationSchema = z
  .strictObject({
    duckdb: filePath.optional(),
    parquet: filePath.optional(),
    ducklake: z
      .strictObject({
        /** `sqlite:` and a file, or `postgres://…`. */
        catalog: z.string().min(1),
        /** A folder, or `s3://bucket/prefix`. */
        data: z.string().min(1),
        schema: schemaName.optional(),
      })
      .optional(),
    iceberg: z
      .strictObject({
        /** Address of the REST catalog, without `/v1`. */
        endpoint: z.string().min(1),
        warehouse: z.string().min(1),
        namespace: schemaName,
        token: z.string().min(1).optional(),
        oauth2: z
          .strictObject({
            clientId: z.string().min(1),
            clientSecret: z.string().min(1),
            tokenUrl: z.string().min(1),
            scope: z.string().min(1).optional(),
          })
          .optional(),
        /** Whether the catalog commits several tables together. */
        multiTableCommit: z.boolean().optional(),
      })
      .refine(
        ({ token, oauth2 }) => token === undefined || oauth2 === undefined,
        'must have token or oauth2, not both',
      )
      .optional(),
    postgres: z
      .strictObject({
        /** `postgres://…` */
        url: z.string().min(1),
        schema: schemaName.max(POSTGRES_SCHEMA_LENGTH).optional(),
      })
      .optional(),
    motherduck: z
      .strictObject({
        /** Its name, with or without `md:`. */
        database: z.string().min(1),
        schema: schemaName.optional(),
        token: z.string().min(1),
      })
      .optional(),
    /** How buckets are reached. */
    s3: z
      .strictObject({
        endpoint: z.string().min(1).optional(),
        region: z.string().min(1).optional(),
        urlStyle: z.enum(['path', 'vhost']).optional(),
        credentials: z
          .union([
            z.literal('chain'),
            z.strictObject({ keyId: z.string().min(1), secret: z.string().min(1) }),
          ])
          .optional(),
      })
      .optional(),
    /** One file with the tables of all accounts. */
    combined: filePath.optional(),
  })
  .refine(
    ({ duckdb, parquet, ducklake, iceberg, postgres, motherduck }) =>
      (duckdb ?? parquet ?? ducklake ?? iceberg ?? postgres ?? motherduck) !== undefined,
    'needs duckdb (a file), parquet (a folder), ducklake (a catalog and its data), iceberg (a REST catalog), postgres (a database) or motherduck (a database there), or several of them',
  );

/** Settings that hold secrets, by their path in the config. */
export const secretDestinationPaths = [
  // It may have a password in it.
  ['destination', 'ducklake', 'catalog'],
  ['destination', 'iceberg', 'token'],
  ['destination', 'iceberg', 'oauth2', 'clientSecret'],
  ['destination', 'postgres', 'url'],
  ['destination', 'motherduck', 'token'],
  ['destination', 's3', 'credentials', 'secret'],
] as const;

/** A place to publish to; its kind is the key under `destination` in the config. */
export type Destination = FileDestination | ServerDestination;

/** A place with a catalog that many programs use. */
export type ServerDestination =
  DuckLakeDestination | IcebergDestination | PostgresDestination | MotherDuckDestination;

/** A file or a folder on this machine. */
export interface FileDestination {
  readonly kind: 'duckdb' | 'parquet';
  /** Absolute path of the file, or of the folder. */
  readonly path: string;
}

/** What a run changed in a lakehouse. */
export interface PublishedTables {
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
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** Tables of Iceberg behind a REST catalog. */
export interface IcebergDestination {
  readonly kind: 'iceberg';
  /** The catalog as people see it, its warehouse, and the namespace. */
  readonly path: string;
  /** Without `/v1`. */
  readonly endpoint: URL;
  readonly warehouse: string;
  /** The namespace. */
  readonly schema: string;
  /** Undefined where the catalog asks for none. */
  readonly login: CatalogLogin | undefined;
  /** Undefined: the catalog gives keys for each table. */
  readonly store: ObjectStore | undefined;
  /** Whether a commit changes all its tables at once. */
  readonly commitsTogether: boolean;
  readonly extensions: ExtensionFolder;
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** Tables in a database of Postgres. */
export interface PostgresDestination {
  readonly kind: 'postgres';
  /** The database as people see it, without a login, and the schema. */
  readonly path: string;
  readonly url: URL;
  readonly schema: string;
  readonly extensions: ExtensionFolder;
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** Tables in a database of MotherDuck. */
export interface MotherDuckDestination {
  readonly kind: 'motherduck';
  /** The database and the schema, as people see them. */
  readonly path: string;
  /** Without `md:`. It is attached as that: the service allows no alias. */
  readonly database: string;
  readonly schema: string;
  readonly token: string;
  readonly extensions: ExtensionFolder;
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** How a catalog knows us. */
export type CatalogLogin =
  | { readonly token: string }
  | {
      readonly clientId: string;
      readonly clientSecret: string;
      /** Where tokens are given. */
      readonly tokenUrl: URL;
      readonly scope?: string | undefined;
    };

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

/** What the engine needs to reach places outside this machine. */
export interface EngineReach {
  readonly extensions: ExtensionFolder;
  readonly store: ObjectStore;
}

/** Where the engine finds its extensions. */
export interface ExtensionFolder {
  /** Absolute; it has a folder per version and platform, e.g. `v1.5.5/linux_amd64`. */
  readonly folder: string;
  /** Whether missing ones are downloaded into it. */
  readonly installs: boolean;
}
