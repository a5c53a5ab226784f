import type { Clock } from '../../model/clock.ts';
import { PublishError } from '../../model/errors.ts';
import type { Database } from '../../warehouse/database.ts';
import { interruptOnAbort } from '../../warehouse/interrupt-on-abort.ts';
import { isAnyTouched, readHeldTables } from './held-tables.ts';
import { repeatInTurn } from './in-turn.ts';
import type { Extent, Lakehouse, OwnUpkeep } from './lakehouse.ts';
import { openToWrite } from './open-to-write.ts';

/**
 * Removes what nobody needs any more from an open lakehouse.
 *
 * @throws PublishError (6) if another program may have changed rows: its change would be hidden behind our own snapshot,
 * so that no sync repaired it
 */
export async function maintainTables(
  lakehouse: Lakehouse,
  upkeep: OwnUpkeep,
  database: Database,
  extent: Extent,
): Promise<void> {
  const readUntouched = async () => {
    const held = await readHeldTables(database, lakehouse);
    if (held !== undefined && isAnyTouched(held)) throw describeTouched(lakehouse);
    return held;
  };
  const held = await readUntouched();
  if (held === undefined) return;
  const refuseTouched = async () => void (await readUntouched());
  await upkeep.maintain(database, { ...held, ...extent, refuseTouched });
}

function describeTouched({ destination: { path } }: Lakehouse): PublishError {
  return new PublishError(`another program changed ${path} since the last publish`, {
    code: 'publish_failed',
    hint: 'Run `sluice sync --force`: it compares the tables with what was synced, repairs them, and then maintains them. No rows were removed.',
    context: { path },
  });
}

/** How a lakehouse is maintained that is not open. */
export interface MaintenanceRequest {
  /** For what does not fit into memory. */
  readonly folder: string;
  readonly extent: Extent;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** The same for a lakehouse that is not open; returns the bytes of its data files, where they are known. */
export async function maintainOnRequest(
  lakehouse: Lakehouse,
  upkeep: OwnUpkeep,
  { folder, extent, clock, signal }: MaintenanceRequest,
): Promise<{ readonly bytesBefore: number | undefined; readonly bytesAfter: number | undefined }> {
  const database = await openToWrite(lakehouse, folder, { signal });
  try {
    const bytesBefore = await lakehouse.measure?.(database);
    await interruptOnAbort(database, signal, () =>
      repeatInTurn(lakehouse, clock, () => maintainTables(lakehouse, upkeep, database, extent), signal),
    );
    return { bytesBefore, bytesAfter: await lakehouse.measure?.(database) };
  } catch (error) {
    throw lakehouse.describeFailure(error);
  } finally {
    await database.release();
  }
}
