import type { Connector } from '../../src/model/connector.ts';
import type { DescribedApi } from './described-api.ts';

/** One thing that holds for every connector: it returns what is wrong, so that a test of the suite can ask it too. */
export interface ConnectorCheck {
  readonly says: string;
  readonly find: (connector: Connector, api: DescribedApi) => Problems | Promise<Problems>;
}

export type Problems = readonly string[];

export function unless(isRight: boolean, problem: string): Problems {
  return isRight ? [] : [problem];
}
