import type { DuckLakeDestination } from '../../../model/destination.ts';
import { PublishError, type SyncError } from '../../../model/errors.ts';
import {
  type Advice,
  adviseToRewrite,
  describeEngineFailure,
  isDiskFailure,
  listServerAdvice,
  listStoreAdvice,
  readMessage,
} from '../describe-failure.ts';

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

const ofLake: readonly Advice[] = [
  {
    pattern: /maximum retry count/,
    what: 'others committed to the catalog during each try',
    hint: 'Run again: publishing needs no request.',
  },
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
];

/** A file that the catalog names and that is gone, in a folder or a bucket. */
const LOST = /(?:open file "|HTTP (?:code )?404[\s\S]*)[^"']+\.parquet/;

/** What the engine says of a file of Parquet with other bytes than were written; it does not always name the file. */
const DAMAGED =
  /Parquet file|magic bytes|(?:read|from) file "[^"]+\.parquet"|TProtocolException|invalid TType|don't know what type|Out of buffer|Variable-length int|Corrupted file|converted type|[Ff]ooter length/;

function describeLosses(lake: DuckLakeDestination): readonly [lost: Advice, ...damaged: readonly Advice[]] {
  const repair = `Put it back, e.g. from a backup or an older version of the bucket. If it is lost, ${adviseToRewrite(lake)}`;
  return [
    { pattern: LOST, what: 'a file with rows of the lake is missing', hint: repair, isForReaders: true },
    { pattern: DAMAGED, what: 'a file with rows of the lake is damaged', hint: repair, isForReaders: true },
    {
      pattern: /Cannot access file "[^"]*" - file system operations are disabled/,
      what: 'another program added a file outside of its data folder to the lake',
      hint: `Sluice reads no other folders. Move those rows to a table of its own, and ${adviseToRewrite(lake)}`,
      isForReaders: true,
    },
  ];
}

const ofCatalog = listServerAdvice('destination.ducklake.catalog', 'the server of the catalog');
const ofStore = listStoreAdvice('destination.ducklake.data');

/**
 * Whether another commit came first. Each takes the next number of the whole catalog, so that it may be one to any table; two
 * that make a catalog at the same time meet in the same way.
 */
export function isDuckLakeConflict(thrown: unknown): boolean {
  const message = readMessage(thrown);
  // Of these, too, the engine says that it tried often enough.
  if (isDiskFailure(message)) return false;
  return (
    (/Failed to commit DuckLake transaction/.test(message) && /retry count|\bconflict\b/i.test(message)) ||
    (/Failed to initialize DuckLake/.test(message) && /duplicate key|already exists/.test(message))
  );
}

/** What the engine says about a DuckLake. */
export function describeDuckLakeFailure(lake: DuckLakeDestination, thrown: unknown): SyncError {
  if (/and creating a new DuckLake is explicitly disabled/.test(readMessage(thrown)))
    return describeAbsence(lake);
  // Both cannot be reached in the same words; only a store is asked by HTTP.
  const places = /\bHTTP\b/.test(readMessage(thrown)) ? [ofStore, ofCatalog] : [ofCatalog, ofStore];
  // The extension advises to let it try again itself, which is what must not be.
  const message = readMessage(thrown).replace(
    /\s*\. Consider increasing the value with: e\.g\., "[^"]*"/,
    '',
  );
  const said = isDuckLakeConflict(thrown) ? new Error(message) : thrown;
  const [lost, ...damaged] = describeLosses(lake);
  return describeEngineFailure(lake, said, [lost, ...ofLake, ...places.flat(), ...damaged]);
}

// A database of a server may be empty; a file with anything else in it belongs to somebody else.
function describeAbsence(lake: DuckLakeDestination): SyncError {
  if (lake.catalog.kind === 'postgres' || isEmptyCatalog(lake.catalog.file))
    return new MissingLakeError(lake);
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

/** Whether a file of SQLite has no table, as one that a first publish made before it ended or the disk was full. */
function isEmptyCatalog(file: string): boolean {
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const catalog = new DatabaseSync(file, { readOnly: true });
    try {
      return catalog.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
    } finally {
      catalog.close();
    }
  } catch {
    return false;
  }
}
