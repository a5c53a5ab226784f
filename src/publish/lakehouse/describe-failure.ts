import type { ExtensionFolder, ServerDestination } from '../../model/destination.ts';
import { AbortedError, ConfigError, LostLockError, PublishError, SyncError } from '../../model/errors.ts';
import type { Lakehouse } from './lakehouse.ts';
import { toLakeSchema } from './names.ts';
import { cutStackTrace } from '../../warehouse/database-errors.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { redact } from '../../text/redact.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';

const SAFE = 'What was synced is committed in the state folder, and what readers see is whole.';
const BROKEN =
  'What was synced is committed in the state folder; until then, readers of these rows get an error.';

/** What an error of the engine means, and what to do. */
export interface Advice {
  readonly pattern: RegExp;
  readonly what: string;
  readonly hint: string;
  /** Whether the place belongs to somebody else. */
  readonly isForeign?: true;
  /** Whether readers meet the same error. */
  readonly isForReaders?: true;
}

/** What a disk does to any lakehouse, on this machine or on a server. */
const ofDisk: readonly Advice[] = [
  {
    pattern: /database or disk is full|No space left on device|Disk quota exceeded/,
    what: 'the disk is full',
    hint: 'Free some space, and run again: publishing needs no request.',
  },
  {
    // SQLite says no more of a file that may not become larger.
    pattern: /disk I\/O error|File too large/,
    what: 'the disk failed',
    hint: 'Look at its space, quota and limit of file sizes, and run again: publishing needs no request.',
  },
];

/** Whether a disk was the cause, whatever else the engine says. */
export function isDiskFailure(message: string): boolean {
  return ofDisk.some(({ pattern }) => pattern.test(message));
}

/** A lakehouse, as errors name it. */
export interface FailedPlace {
  readonly path: string;
  readonly secrets: readonly string[];
  readonly extensions: ExtensionFolder;
}

/** What object stores say, and a last advice for every lakehouse. `setting` says where the data is. */
export function listStoreAdvice(setting: string): readonly Advice[] {
  return [
    {
      pattern: /ExpiredToken|token has expired/i,
      what: 'the keys for the object store have expired',
      hint: 'Run again with new ones: publishing needs no request. Keys that `destination.s3.credentials: chain` finds are looked up again when a publish begins.',
    },
    {
      pattern: /HTTP (?:code )?507|StorageFull|QuotaExceeded/,
      what: 'the object store is full',
      hint: 'Make room there, or raise its quota, and run again.',
    },
    {
      pattern: /HTTP (?:code )?5\d\d|SlowDown|ServiceUnavailable/,
      what: 'the object store is busy or broken',
      hint: 'Run again later: publishing needs no request.',
    },
    {
      pattern:
        /HTTP 403|SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied|ExpiredToken|Secret Validation Failure/,
      what: 'the object store refuses the key',
      hint: `Fix destination.s3.credentials, or the credentials in the environment: the key needs to list, read, write and delete below ${setting}.`,
    },
    {
      pattern: /NoSuchBucket|HTTP 404/,
      what: 'the bucket does not exist, or lost an object',
      hint: `Create the bucket, or fix ${setting}.`,
    },
    {
      pattern:
        /Could not connect to server|Could not resolve host|Connection refused|SSL (?:connect|peer certificate)|Timeout was reached/i,
      what: 'the object store cannot be reached',
      hint: 'Start it, or fix destination.s3.endpoint, and run again.',
    },
    CONFLICT,
  ];
}

/** What a server of Postgres says. `setting` has its address, and `server` is what it is called. */
export function listServerAdvice(setting: string, server: string): readonly Advice[] {
  return [
    {
      pattern: /password authentication failed|no password supplied|role "[^"]*" does not exist/,
      what: `${server} refuses this user`,
      hint: `Fix user and password in ${setting}.`,
    },
    {
      pattern: /permission denied for|must be owner of/,
      what: `the user of ${setting} may not do this`,
      hint: 'Grant it what docs/lakehouse.md lists, or name another user.',
    },
    {
      pattern: /database "[^"]*" does not exist/,
      what: 'the database does not exist',
      hint: `Create it (CREATE DATABASE), or fix its name in ${setting}.`,
    },
    {
      pattern: /server does not support SSL|SSL error|certificate|root\.crt/i,
      what: `the connection to ${server} cannot be encrypted as asked`,
      hint: `Fix sslmode and sslrootcert in ${setting}, or PGSSLMODE and PGSSLROOTCERT in the environment.`,
    },
    {
      pattern:
        /connection (?:to server .*)?(?:failed|refused)|could not connect|could not translate host name|timeout expired|terminating connection|server closed the connection|the database system is|SSL SYSCALL|unsuccessful query result/i,
      what: `${server} cannot be reached`,
      hint: `Start it, or fix the address in ${setting}, and run again.`,
    },
    {
      // The engine says what it tried next, and not why.
      pattern: /Current transaction is aborted|Failed to execute query "(?:ROLLBACK|COMMIT)"/,
      what: `the connection to ${server} was lost`,
      hint: 'Run again: publishing needs no request.',
    },
  ];
}

/** The advice for two writers at a time. */
export const CONFLICT: Advice = {
  pattern: /\bconflict\b|database is locked|could not serialize/i,
  what: 'another program changed the same tables at the same time',
  hint: 'Run again: publishing needs no request.',
};

/** What the engine says about a lakehouse, as an error that says what to do; without secrets. */
export function describeEngineFailure(
  place: FailedPlace,
  thrown: unknown,
  advice: readonly Advice[],
): SyncError {
  if (isOurs(thrown)) return thrown;
  const raw = redact(readMessage(thrown), place.secrets);
  const extension =
    /Extension "([^"]+)" not found|Failed to download extension "([^"]+)"|extension "([^"]+)"/i.exec(raw);
  if (extension !== null && /not found|Failed to download|Install it first/.test(raw))
    return describeMissingExtension(place, extension.slice(1).find((name) => name !== undefined) ?? '', raw);
  const { path } = place;
  const found = [...ofDisk, ...advice].find(({ pattern }) => pattern.test(raw));
  const message = cutStackTrace(raw)
    // The statement that failed is ours, and says nothing to a user.
    .replace(/\s*LINE \d+: [\s\S]*$/, '')
    .replace(/Failed to execute query "[\s\S]*": (?=ERROR: )/, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .slice(0, 500);
  return new PublishError(`${path}: ${found === undefined ? message : `${found.what}: ${message}`}`, {
    code: found?.isForeign === true ? 'publish_refused' : 'publish_failed',
    hint: `${found?.hint ?? 'Fix the cause and run again: publishing needs no request.'} ${found?.isForReaders === true ? BROKEN : SAFE}`,
    context: { path },
    ...(found?.isForeign === true && { exitCode: 2 as const }),
    cause: new Error(raw),
  });
}

function isOurs(thrown: unknown): thrown is SyncError {
  return [PublishError, ConfigError, AbortedError, LostLockError].some((one) => thrown instanceof one);
}

/** The engine's own words. */
export function readMessage(thrown: unknown): string {
  const inner = thrown instanceof SyncError && thrown.cause instanceof Error ? thrown.cause : thrown;
  return inner instanceof Error ? inner.message : String(inner);
}

/** A download that failed may work the next time; a file that is not there for this platform will not. */
function describeMissingExtension({ extensions, path }: FailedPlace, name: string, raw: string): SyncError {
  const { folder, installs } = extensions;
  const put = `put the files of all extensions that it needs into one folder, as docs/lakehouse.md shows, and write it as engine.extensionDirectory (now: ${folder}). Nothing was requested.`;
  const context = { path };
  if (installs && /Failed to download/.test(raw) && !/\b404\b/.test(raw))
    return new PublishError(`the engine's extension ${name} could not be downloaded`, {
      code: 'publish_failed',
      hint: `Run again once this machine reaches the internet. Where it never does, ${put}`,
      context,
      cause: new Error(raw),
    });
  return new ConfigError(`the engine's extension ${name} is missing`, {
    code: 'config_invalid',
    hint: `To get it, ${put}`,
    context,
  });
}

/** What writes all tables of a lakehouse again. */
export function adviseToRewrite({ kind, schema }: Pick<ServerDestination, 'kind' | 'schema'>): string {
  const own = toLakeSchema(schema, '_sluice');
  const [where, drop] =
    kind === 'iceberg'
      ? [`namespace ${schema}`, `all tables of namespace ${own}`]
      : [`schema ${quoteIdentifier(schema)}`, `DROP SCHEMA ${quoteIdentifier(own)} CASCADE`];
  return `drop the tables of your streams in ${where} and ${drop}, and run \`sluice sync\`: it writes all tables again, without a request where the state folder is still there; else it reads everything from the API.`;
}

/** The error of a table of somebody else in the place of ours. */
export function describeTaken({ destination }: Pick<Lakehouse, 'destination'>, table: string): PublishError {
  const { path, kind } = destination;
  return new PublishError(
    `${path} has a table ${table}, and nothing there says that Sluice made it; nothing is written into it`,
    {
      code: 'publish_refused',
      hint: `Name another ${kind === 'iceberg' ? 'namespace' : 'schema'} in destination.${kind}, or rename that table. If Sluice made it and what it records next to its tables was lost since, ${adviseToRewrite(destination)} Nothing was changed.`,
      context: { path },
      exitCode: 2,
    },
  );
}

/** The error of a table that would have other rows than were synced, after all of them were compared. */
export function describeOtherCount(
  { title, destination: { path } }: Pick<Lakehouse, 'title' | 'destination'>,
  table: string,
  { rows, wanted }: { readonly rows: number; readonly wanted: number },
): PublishError {
  return new PublishError(
    `${path}: ${table} would have ${formatCountOf(rows, 'row')}, and ${formatCount(wanted)} ${verbOf(wanted, 'was', 'were')} synced`,
    {
      code: 'publish_failed',
      hint: `${title} computes hashes of rows differently from this version of the engine. Publish to another destination, and report this. This was not committed there; what was synced is committed in the state folder.`,
      context: { path },
    },
  );
}

/** The error of a table whose rows the server itself changes while they are written. */
export function describeInterference(
  { destination: { path, kind } }: Pick<Lakehouse, 'destination'>,
  table: string,
  what: string,
): PublishError {
  return new PublishError(
    `${path}: ${table} would have other rows than were synced: ${what} there changes what is written`,
    {
      code: 'publish_failed',
      hint: `Drop or disable it, or publish to another schema in destination.${kind}, and run again: publishing needs no request. Nothing was committed there, and readers see what they saw before; what was synced is committed in the state folder.`,
      context: { path },
    },
  );
}
