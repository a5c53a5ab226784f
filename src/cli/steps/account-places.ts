import type { ConfigAnswers } from '../frame/engine.ts';

/** Where the config of some accounts has their files, below a folder; `${account}` is in each path. */
export function placeAccounts(
  folder: string,
  names: readonly string[],
): Pick<ConfigAnswers, 'duckdb' | 'stateDir' | 'accounts'> {
  return {
    duckdb: `${folder}/accounts/\${account}.duckdb`,
    stateDir: `${folder}/.sluice/\${account}`,
    accounts: { names, parquet: `${folder}/lake/account=\${account}` },
  };
}
