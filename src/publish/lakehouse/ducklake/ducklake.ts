import { basename, dirname } from 'node:path';
import { resolveLinks } from '../../../files/real-paths.ts';
import type { DuckLakeDestination } from '../../../model/destination.ts';
import type { RelationComments } from '../../../model/dictionary.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { assertWritable } from '../../assert-writable.ts';
import type { Damage, LocalPlace } from '../../publisher.ts';
import { createAgain, listTaken } from '../engine-tables.ts';
import { readHeldTables } from '../held-tables.ts';
import { keepOutOfCatalog } from './inlined-rows.ts';
import type {
  FoundTable,
  Inspection,
  Lakehouse,
  LakehouseAccess,
  OwnUpkeep,
  Recorded,
  Signature,
  StoredTable,
} from '../lakehouse.ts';
import { LAKE, nameInLake } from '../names.ts';
import { waitForLock } from './catalog-lock.ts';
import { CatalogTurn } from './catalog-turn.ts';
import { adviseToRewrite } from '../describe-failure.ts';
import { describeDuckLakeFailure, isDuckLakeConflict } from './describe-ducklake-failure.ts';
import { commentInDuckLake } from './ducklake-comments.ts';
import { AUTHOR, inspectDuckLake } from './inspect-ducklake.ts';
import { maintainDuckLake } from './maintain-ducklake.ts';
import { keepDuckLakeViews } from './ducklake-views.ts';
import { findWrongStatistics } from './verify-statistics.ts';
import type { ViewKeeper } from '../view-keeper.ts';
import { isRemote, openDuckLake } from './open-ducklake.ts';

/** How a DuckLake waits for others that publish to its catalog. */
export interface Turns {
  /** Those with the same one take turns within this process. */
  readonly turn: string;
  /** The longest wait for another process, ms: a machine that stands still must not keep others waiting. */
  readonly longestWaitMs: number;
}

const LONGEST_WAIT_MS = 15_000;

/** A DuckLake: a catalog in a database, and data files in a folder or a bucket. */
export class DuckLake implements Lakehouse {
  readonly title = 'DuckLake';
  readonly isPartitioned = true;
  readonly commitsTogether = true;
  readonly destination: DuckLakeDestination;
  readonly local?: LocalPlace;
  /** Undefined for a file as the catalog: there, others wait before they open it. */
  readonly turn?: string;
  readonly isConflict = isDuckLakeConflict;
  readonly #catalogTurn: CatalogTurn | undefined;
  readonly #longestWaitMs: number;

  constructor(destination: DuckLakeDestination, turns: Partial<Turns> = {}) {
    this.destination = destination;
    this.views = keepDuckLakeViews(destination);
    const { catalog } = destination;
    if (catalog.kind === 'postgres') this.turn = turns.turn ?? catalog.url.href;
    else this.#catalogTurn = new CatalogTurn(turns.turn ?? resolveLinks(catalog.file));
    this.#longestWaitMs = turns.longestWaitMs ?? LONGEST_WAIT_MS;
    const local = findLocal(destination);
    if (local !== undefined) this.local = local;
  }

  assertWritable(): void {
    const { catalog, data } = this.destination;
    const instead = 'another place in destination.ducklake';
    if (catalog.kind === 'sqlite')
      assertWritable({ folder: dirname(catalog.file), what: basename(catalog.file), instead });
    if (!isRemote(data)) assertWritable({ folder: data, what: 'the data of the DuckLake', instead });
  }

  async open(access: LakehouseAccess): Promise<Database | undefined> {
    const leave = await this.#catalogTurn?.enter(access.signal);
    let database: Database | undefined;
    try {
      database = await openDuckLake(this.destination, { ...access, ...(leave && { onClosed: leave }) });
      return database;
    } finally {
      if (database === undefined) leave?.();
    }
  }

  async begin(session: SqlSession): Promise<void> {
    if (this.destination.catalog.kind === 'postgres') await waitForLock(session, this.#longestWaitMs);
  }

  describeFailure(thrown: unknown): ReturnType<Lakehouse['describeFailure']> {
    return describeDuckLakeFailure(this.destination, thrown);
  }

  chooseType(type: string): string {
    return type;
  }

  findTaken(session: SqlSession, schema: string, names: readonly string[]): Promise<readonly string[]> {
    return listTaken(session, { schema }, names);
  }

  inspect(session: SqlSession, recorded: Recorded): Promise<Inspection> {
    return inspectDuckLake(session, this.destination.schema, recorded);
  }

  prepareColumns(session: SqlSession, table: StoredTable): Promise<void> {
    return keepOutOfCatalog(session, this.destination, table);
  }

  makeEmpty(session: SqlSession, table: StoredTable, before: FoundTable | undefined): Promise<void> {
    return createAgain(session, this.destination, { ...table, before });
  }

  comment(session: SqlSession, wanted: readonly RelationComments[]): Promise<void> {
    return commentInDuckLake(session, wanted);
  }

  async partition(session: SqlSession, { schema, table, partitions }: StoredTable): Promise<void> {
    const name = nameInLake(this.destination, schema, table);
    const how = partitions === '' ? 'RESET PARTITIONED BY' : `SET PARTITIONED BY (${partitions})`;
    await session.run(`ALTER TABLE ${name} ${how}`);
  }

  async sign(session: SqlSession, { generation, runId }: Signature): Promise<void> {
    const about = quoteLiteral(JSON.stringify({ generation }));
    await session.run(
      `CALL ducklake_set_commit_message(${quoteLiteral(LAKE)}, ${quoteLiteral(AUTHOR)}, ${quoteLiteral(`run ${runId}`)}, extra_info => ${about})`,
    );
  }

  async findDamages(session: SqlSession): Promise<readonly Damage[]> {
    const held = await readHeldTables(session, this);
    const tables = [...(held?.tables ?? [])].map(([name, { columns }]) => ({ name, columns }));
    const fix = `To repair it, ${adviseToRewrite(this.destination)}`;
    const look = () => findWrongStatistics(session, this.destination, { tables, fix });
    // Somebody may have committed between what the catalog said and the rows: what is wrong is so the second time.
    const damages = await look();
    return damages.length === 0 ? damages : look();
  }

  async measure(session: SqlSession): Promise<number> {
    const [row] = await session.all(
      `SELECT coalesce(sum(file_size_bytes + delete_file_size_bytes), 0) AS bytes FROM ducklake_table_info(${quoteLiteral(LAKE)})`,
    );
    return Number(row?.['bytes']);
  }

  readonly views: ViewKeeper;
  readonly upkeep: OwnUpkeep = {
    by: 'sluice',
    maintain: (database, work) =>
      maintainDuckLake({
        ...work,
        database,
        lake: this.destination,
        begin: () => this.begin(database),
      }),
  };
}

/** Undefined where nothing of the lake is on this machine: a server has locks of its own. */
function findLocal({ catalog, data, schema }: DuckLakeDestination): LocalPlace | undefined {
  const file = catalog.kind === 'sqlite' ? catalog.file : undefined;
  const folder = isRemote(data) ? file && dirname(file) : data;
  if (folder === undefined) return undefined;
  // Names of schemas are the same in any case.
  return { target: resolveLinks(file ?? folder), part: schema.toLowerCase(), folder, engineFolders: [] };
}
