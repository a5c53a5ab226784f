import type { DuckLakeDestination } from '../../model/destination.ts';
import { AbortedError, ConfigError, PublishError, SyncError } from '../../model/errors.ts';
import { redact } from '../../text/redact.ts';

/** There is no lake yet: nothing was ever published. */
export class MissingLakeError extends PublishError {
  constructor({ path }: Pick<DuckLakeDestination, 'path'>) {
    super(`there is no DuckLake in ${path} yet`, {
      code: 'publish_failed',
      hint: 'Run `sluice sync`: it makes it.',
      context: { path },
    });
  }
}

const SAFE = 'What was synced is committed in the state folder, and what readers see is whole.';

interface Advice {
  readonly pattern: RegExp;
  readonly what: string;
  readonly hint: string;
  /** Whether the place belongs to somebody else. */
  readonly isForeign?: true;
}

const advice: readonly Advice[] = [
  {
    pattern: /does not match existing data path/,
    what: 'the catalog belongs to another data folder',
    hint: 'Write the folder of this catalog as destination.ducklake.data, or name another catalog. Nothing was changed.',
    isForeign: true,
  },
  {
    pattern: /file is not a database|AUTOMATIC_MIGRATION|not a DuckLake/i,
    what: 'the catalog is not a DuckLake that this version can read',
    hint: 'Name another catalog, or move this one away. Nothing was changed.',
    isForeign: true,
  },
  {
    pattern: /password authentication failed|no password supplied|role "[^"]*" does not exist/,
    what: 'the catalog refuses this user',
    hint: 'Fix user and password in destination.ducklake.catalog.',
  },
  {
    pattern: /permission denied for/,
    what: 'the user of the catalog may not do this',
    hint: 'Grant it CREATE on the database and its schema, or name another user; docs/lakehouse.md lists what it needs.',
  },
  {
    pattern: /database "[^"]*" does not exist/,
    what: 'the database of the catalog does not exist',
    hint: 'Create it (CREATE DATABASE), or fix its name in destination.ducklake.catalog.',
  },
  {
    pattern:
      /connection (?:to server .*)?(?:failed|refused)|could not connect|could not translate host name|timeout expired/i,
    what: 'the server of the catalog cannot be reached',
    hint: 'Start it, or fix the address in destination.ducklake.catalog, and run again.',
  },
  {
    pattern:
      /HTTP 403|SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied|ExpiredToken|Secret Validation Failure/,
    what: 'the object store refuses the key',
    hint: 'Fix destination.s3.credentials, or the credentials in the environment: the key needs to list, read, write and delete below destination.ducklake.data.',
  },
  {
    pattern: /NoSuchBucket|HTTP 404/,
    what: 'the bucket does not exist, or lost an object',
    hint: 'Create the bucket, or fix destination.ducklake.data.',
  },
  {
    pattern:
      /Could not connect to server|Could not resolve host|Connection refused|SSL connect|Timeout was reached/i,
    what: 'the object store cannot be reached',
    hint: 'Start it, or fix destination.s3.endpoint, and run again.',
  },
  {
    pattern: /transaction conflict|conflict|database is locked|could not serialize/i,
    what: 'another program changed the lake at the same time',
    hint: 'Run again: publishing needs no request.',
  },
];

/** What the engine says about a lake, as an error that says what to do; without secrets. */
export function describeFailure(lake: DuckLakeDestination, thrown: unknown): SyncError {
  const inner = thrown instanceof SyncError && thrown.cause instanceof Error ? thrown.cause : thrown;
  const isOurs = thrown instanceof PublishError || thrown instanceof ConfigError;
  if (isOurs || thrown instanceof AbortedError) return thrown;
  const raw = redact(inner instanceof Error ? inner.message : String(inner), lake.secrets);
  if (/and creating a new DuckLake is explicitly disabled/.test(raw)) return describeAbsence(lake);
  const extension =
    /Extension "([^"]+)" not found|Failed to download extension "([^"]+)"|extension "([^"]+)"/i.exec(raw);
  if (extension !== null && /not found|Failed to download|Install it first/.test(raw))
    return describeMissingExtension(lake, extension.slice(1).find((name) => name !== undefined) ?? '');
  const { path } = lake;
  const found = advice.find(({ pattern }) => pattern.test(raw));
  const message = raw
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .slice(0, 500);
  return new PublishError(`${path}: ${found === undefined ? message : `${found.what}: ${message}`}`, {
    code: found?.isForeign === true ? 'publish_refused' : 'publish_failed',
    hint: `${found?.hint ?? 'Fix the cause and run again: publishing needs no request.'} ${SAFE}`,
    context: { path },
    ...(found?.isForeign === true && { exitCode: 2 as const }),
    cause: new Error(raw),
  });
}

// A database of a server may be empty; a file with anything else in it belongs to somebody else.
function describeAbsence(lake: DuckLakeDestination): SyncError {
  if (lake.catalog.kind === 'postgres') return new MissingLakeError(lake);
  return new PublishError(
    `${lake.path} exists and is not the catalog of a DuckLake; nothing is written into it`,
    {
      code: 'publish_refused',
      hint: 'Name another file in destination.ducklake.catalog, or move this one away. Nothing was requested.',
      context: { path: lake.path },
      exitCode: 2,
    },
  );
}

function describeMissingExtension({ extensions, path }: DuckLakeDestination, name: string): ConfigError {
  const { folder, installs } = extensions;
  return new ConfigError(`the engine's extension ${name} is missing`, {
    code: 'config_invalid',
    hint: `${
      installs ? 'It could not be downloaded: is there internet? Where there is none, put' : 'Put'
    } the files of all extensions that it needs into one folder, as docs/lakehouse.md shows, and write it as engine.extensionDirectory (now: ${folder}). Nothing was requested.`,
    context: { path },
  });
}
