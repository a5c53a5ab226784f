import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { MotherDuckDestination } from '../../src/model/destination.ts';
import { motherDuck } from '../../src/publish/lakehouse/motherduck/attach-motherduck.ts';
import type { LakehouseReach } from '../../src/publish/lakehouse/open-engine.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';

/** Puts a database of this machine in the place of the service, for the tests of a file. */
export function standInForMotherDuck(): void {
  const { reach } = motherDuck;
  beforeAll(() => {
    motherDuck.reach = reachStandIn;
  });
  afterAll(() => {
    motherDuck.reach = reach;
  });
}

/**
 * In place of `motherDuck.reach`: tests cannot reach the service, so the token is the
 * path of a file of the engine, or of the catalog of a DuckLake (`….sqlite`). It has the name that the service has for it.
 */
function reachStandIn({ database, token }: MotherDuckDestination): Omit<LakehouseReach, 'extensions'> {
  const [path, name] = [token, quoteIdentifier(database)];
  if (!path.endsWith('.sqlite'))
    return {
      needs: [],
      places: [],
      attach: (session) => session.run(`ATTACH ${quoteLiteral(path)} AS ${name}`),
    };
  const data = `${join(dirname(path), 'data')}/`;
  const options = [`DATA_PATH ${quoteLiteral(data)}`, `META_JOURNAL_MODE 'WAL'`, 'META_BUSY_TIMEOUT 10000'];
  return {
    needs: ['ducklake', 'sqlite_scanner'],
    places: [data, dirname(path)],
    attach: (session) =>
      session.run(`ATTACH ${quoteLiteral(`ducklake:sqlite:${path}`)} AS ${name} (${options.join(', ')})`),
  };
}
