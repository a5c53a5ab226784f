import { readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * When a test file runs: `fast` on every save, `daily` on every change (with `fast`, it is `npm test`), `full` in
 * the full proof, which runs all three. docs/contributing.md has what each proves.
 */
export type Tier = 'fast' | 'daily' | 'full';

export const tierNames: readonly Tier[] = ['fast', 'daily', 'full'];

/** Places below `test/` by tier. The longest one that a file's path begins with decides. */
const places: Readonly<Record<Tier, readonly string[]>> = {
  // Pure rooms, rules, texts: no engine, no process, no socket to speak of.
  fast: [
    'accounts/',
    'architecture',
    'archive/',
    'bench/',
    'cli/',
    'clients/',
    'clocks/',
    'commands/',
    'config/',
    'contract/',
    'dagster/',
    'deploy/',
    'dictionary/',
    'discover/',
    'docs/',
    'fleet/quota/',
    'fleet/worker/',
    'http/',
    'interop/',
    'json/',
    'load/',
    'mcp/',
    'metrics/',
    'model/',
    'notify/',
    'orders/',
    'plan/',
    'read/',
    'render/',
    'report/',
    'schedule/',
    'schema/',
    'simulator/',
    'soak/',
    'state/',
    'storage/',
    'sync/',
    'telemetry/',
    'text/',
    'tiers',
  ],
  // The whole syncs that guard the core promises, the engine, what the README shows.
  daily: [
    'connectors/',
    'deploy/healthcheck',
    'docs/shown',
    'fleet/',
    'flows/convergence',
    'flows/counts.test',
    'flows/comments.test',
    'flows/discover.test',
    'flows/drift.property',
    'flows/endless',
    'flows/first-sync',
    'flows/incremental-sync',
    'flows/keys.test',
    'flows/killed-refresh',
    'flows/one-version',
    'flows/published-file',
    'flows/slow-answers',
    'flows/slower-burst',
    'publish/',
    'stage/',
    'state/lock',
    'views/',
    'warehouse/',
  ],
  // Faults on real sockets and disks, kills at every step, and every other flow: a new one runs here unless named above.
  full: [
    'accounts/accounts-catalog',
    'accounts/combined-file',
    'bench/parts',
    'cli/bound-heap',
    'render/table',
    'connectors/example-events',
    'connectors/example-orders',
    'contract/connector.test',
    'crash/',
    'docs/blocks',
    'docs/examples',
    'docs/lies',
    'docs/shown-accounts',
    'faults/',
    'fleet/parcel-memory',
    'fleet/quota/postgres',
    'fleet/quota/shared-key',
    'fleet/server-stores',
    'flows/',
    'mcp/call-process',
    'orders/every-order',
    'package',
    'publish/documented-publisher',
    'publish/ducklake',
    'publish/fence',
    'publish/lake-live-reader',
    'publish/motherduck.test',
    'publish/publishers',
    'support/',
    'tools/',
    'warehouse/engine-memory',
    'warehouse/query-accounts',
  ],
};

const decisions = tierNames
  .flatMap((tier) => places[tier].map((place) => ({ tier, place })))
  .toSorted((a, b) => b.place.length - a.place.length);

/** Every place that a tier names. */
export const namedPlaces: readonly string[] = decisions.map(({ place }) => place);

/** The tier of a test file, named from `test/`. Throws for one that has none: no test may be left out by mistake. */
export function findTier(file: string): Tier {
  const found = decisions.find(({ place }) => file.startsWith(place));
  if (found === undefined)
    throw new Error(`test/${file} is in no tier: name it, or its folder, in test/tiers.ts`);
  return found.tier;
}

/** Every test file, named from `test/`. */
export function listTestFiles(): readonly string[] {
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.split(path.sep).join('/'))
    .toSorted();
}
