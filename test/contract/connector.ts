import { describe, expect, it } from 'vitest';
import type { Connector } from '../../src/model/connector.ts';
import type { DescribedApi } from './described-api.ts';
import type { Problems } from './connector-check.ts';
import { syncChecks } from './sync-checks.ts';
import { valueChecks } from './value-checks.ts';

const checks = [...valueChecks, ...syncChecks];

/** The tests that every connector has to pass: it is consistent, and it fits its API, which is described next to it. */
export function describeConnector(connector: Connector, api: DescribedApi): void {
  describe(`the connector ${connector.name}`, () => {
    it.each(checks)('$says', async ({ find }) => {
      expect(await find(connector, api)).toEqual([]);
    });
  });
}

/** What the first check says that something is wrong for; nothing where the connector passes. */
export async function findFirstProblems(connector: Connector, api: DescribedApi): Promise<Problems> {
  for (const { find } of checks) {
    const problems = await Promise.resolve()
      .then(() => find(connector, api))
      .catch((error: unknown) => [String(error)]);
    if (problems.length > 0) return problems;
  }
  return [];
}
