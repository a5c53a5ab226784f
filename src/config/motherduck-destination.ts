import type { ConfigPath } from './config-path.ts';
import type { LakehouseScope, SharedPlace } from './lakehouse-settings.ts';
import type { Config } from '../model/config.ts';
import type { MotherDuckDestination } from '../model/destination.ts';

const DATABASE: ConfigPath = ['destination', 'motherduck', 'database'];
/** What the engine calls databases of its own, and the one of our work file. */
const TAKEN = ['memory', 'system', 'temp', 'work'];

export const motherDuckPlace: SharedPlace = {
  kind: 'motherduck',
  title: 'MotherDuck database',
  keys: ['database', 'schema'],
  own: 'schema',
  fallback: 'main',
  simplify: (value) => withoutPrefix(value).toLowerCase(),
};

/** The tables in MotherDuck of a config; undefined where it names none. */
export function resolveMotherDuck(
  { destination: { motherduck } }: Config,
  { refuse, reach: { extensions } }: LakehouseScope,
): MotherDuckDestination | undefined {
  if (motherduck === undefined) return undefined;
  const { schema = 'main', token } = motherduck;
  const database = withoutPrefix(motherduck.database);
  if (!/^[a-z_][a-z0-9_-]{0,254}$/i.test(database))
    refuse(
      DATABASE,
      'is not the name of a database: letters, digits, _ and -, without options behind it',
      'Write database: analytics, and the token as destination.motherduck.token.',
    );
  if (TAKEN.includes(database.toLowerCase()))
    refuse(
      DATABASE,
      `must not be ${database}, which means something else in the engine`,
      'Name another one.',
    );
  const path = `md:${database}.${schema}`;
  return { kind: 'motherduck', path, database, schema, token, extensions, secrets: [token] };
}

function withoutPrefix(database: string): string {
  return database.replace(/^(?:md|motherduck):/i, '');
}
