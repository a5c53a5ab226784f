import type { DescribedColumn, Dictionary, DictionaryTable } from '../../src/model/dictionary.ts';

/** A column of a dictionary; what a test is about is given. */
export function makeColumn(changes: Partial<DescribedColumn> = {}): DescribedColumn {
  return {
    name: 'visibility_score',
    type: 'DOUBLE',
    field: 'visibilityScore',
    companionOf: undefined,
    evidence: 'all values were numbers',
    hasNulls: undefined,
    isInKey: false,
    isHashed: false,
    absentSince: undefined,
    description: 'Share of answers',
    unit: 'percent',
    ...changes,
  };
}

const PLAIN = { description: undefined, unit: undefined };

/** A table with a key, a measure and a column of Sluice's own. */
export function makeTable(changes: Partial<DictionaryTable> = {}): DictionaryTable {
  return {
    table: 'prompts_analytics',
    stream: 'prompts_analytics',
    holds: 'rows',
    connector: 'analytics-read',
    path: 'prompts/analytics',
    description: 'What people ask.',
    key: { columns: ['prompt_id'], origin: 'learned', isProved: true },
    verifiedWholeAt: '2026-11-20T06:00:00.000Z',
    columns: [
      makeColumn({
        name: 'prompt_id',
        type: 'VARCHAR',
        field: 'promptId',
        evidence: 'all values were text',
        isInKey: true,
        ...PLAIN,
      }),
      makeColumn(),
      makeColumn({ name: '_run_id', type: 'VARCHAR', field: undefined, evidence: undefined, ...PLAIN }),
    ],
    rows: 12_400,
    nullShares: { prompt_id: 0, visibility_score: 0.25, _run_id: 0 },
    contractFile: 'contracts/prompts_analytics.schema.json',
    excluded: ['userEmail'],
    changes: [
      {
        runId: '20261120T060000Z-0a1b2c',
        stream: 'prompts_analytics',
        column: 'visibility_score',
        change: 'widened',
        fromType: 'BIGINT',
        toType: 'DOUBLE',
        changedAt: '2026-11-20T06:00:10.000Z',
      },
    ],
    moreChanges: 0,
    ...changes,
  };
}

/** A dictionary of these tables. */
export function makeDictionary(tables: readonly DictionaryTable[]): Dictionary {
  return { connector: 'analytics-read', file: '/data/warehouse.duckdb', tables };
}
