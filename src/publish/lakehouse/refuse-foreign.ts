import { assertIdentity } from '../../../state/owner.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Database } from '../../warehouse/database.ts';
import { historyOf } from '../../warehouse/evolve-table.ts';
import { describeTaken } from './describe-failure.ts';
import { type HeldTables, readHeldTables } from './held-tables.ts';
import type { Lakehouse } from './lakehouse.ts';
import { OWN_TABLES, toLakeSchema } from './names.ts';

/**
 * Rejects a lakehouse that another state folder fills, and tables of somebody else that have a name which a publish needs.
 * Returns what is held, which another run may have published for the first time since it was read. Throws PublishError (2).
 */
export async function refuseForeign(
  database: Database,
  lakehouse: Lakehouse,
  { settings, held }: { readonly settings: OfflineSettings; readonly held: HeldTables | undefined },
): Promise<HeldTables | undefined> {
  if (held?.generation !== undefined) assertIdentity(held.meta, settings, lakehouse.destination.path);
  const wanted = {
    main: settings.streams.flatMap(({ table }) => [table, historyOf(table)]),
    _sluice: held === undefined ? ['meta', ...Object.values(OWN_TABLES)] : [],
  };
  for (const stored of ['main', '_sluice'] as const) {
    const names = wanted[stored].filter((name) => held?.tables.has(`${stored}.${name}`) !== true);
    const schema = toLakeSchema(lakehouse.destination.schema, stored);
    const [taken] = names.length === 0 ? [] : await lakehouse.findTaken(database, schema, names);
    if (taken === undefined) continue;
    const now = await readHeldTables(database, lakehouse);
    if (now === undefined || isUnchanged(now, held)) throw describeTaken(lakehouse, `${schema}.${taken}`);
    return refuseForeign(database, lakehouse, { settings, held: now });
  }
  return held;
}

function isUnchanged(now: HeldTables, before: HeldTables | undefined): boolean {
  return now.generation === before?.generation && now.tables.size === before?.tables.size;
}
