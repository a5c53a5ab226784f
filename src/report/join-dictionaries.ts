import type { AccountDictionary, DescribedColumn, DictionaryTable } from '../model/dictionary.ts';

/** A column of all accounts that have it. */
export interface JoinedColumn {
  /** As the first account that has it describes it. */
  readonly column: DescribedColumn;
  /** Each type that it has, most often one. */
  readonly types: readonly string[];
  readonly accounts: readonly string[];
  readonly isInKey: boolean;
  /** Smallest and largest share of rows without a value; undefined where nobody counted. */
  readonly empty: readonly [least: number, most: number] | undefined;
}

/** A table of all accounts that have it. */
export interface JoinedTable {
  /** As the first account that has it describes it. */
  readonly table: DictionaryTable;
  /** Of each account that has it. */
  readonly parts: readonly { readonly account: string; readonly table: DictionaryTable }[];
  readonly columns: readonly JoinedColumn[];
}

/** The tables of several dictionaries by name, in the order in which they are first met. Pure. */
export function joinDictionaries(accounts: readonly AccountDictionary[]): readonly JoinedTable[] {
  const all = accounts.flatMap(({ account = '', dictionary }) =>
    (dictionary?.tables ?? []).map((table) => ({ account, table })),
  );
  return [...Map.groupBy(all, ({ table }) => table.table).values()].flatMap((parts) => {
    const [first] = parts;
    return first === undefined ? [] : [{ table: first.table, parts, columns: joinColumns(parts) }];
  });
}

function joinColumns(parts: JoinedTable['parts']): readonly JoinedColumn[] {
  const all = parts.flatMap(({ account, table }) =>
    table.columns.map((column) => ({ account, column, share: table.nullShares[column.name] })),
  );
  return [...Map.groupBy(all, ({ column }) => column.name).values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const shares = same.map(({ share }) => share).filter((share) => share !== undefined);
    return [
      {
        column: first.column,
        types: [...new Set(same.map(({ column }) => column.type))],
        accounts: same.map(({ account }) => account),
        isInKey: same.some(({ column }) => column.isInKey),
        empty: shares.length === 0 ? undefined : ([Math.min(...shares), Math.max(...shares)] as const),
      },
    ];
  });
}
