import type { QueryCell, QueryResult } from '../model/reports.ts';

/** Converts integers received as text into numbers if a number holds them exactly. */
export function readWholeNumbers(result: QueryResult): QueryResult {
  const isWhole = result.columns.map(({ type }) => WHOLE_TYPE.test(type));
  return {
    ...result,
    rows: result.rows.map((row) => row.map((cell, i) => readCell(cell, isWhole[i] === true))),
  };
}

/** Whether a column of this type is aligned to the right. */
export function isNumericType(type: string): boolean {
  return WHOLE_TYPE.test(type) || /^(DOUBLE|FLOAT|DECIMAL)/.test(type);
}

const WHOLE_TYPE = /^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/;

function readCell(cell: QueryCell, isWhole: boolean): QueryCell {
  if (!isWhole || typeof cell !== 'string') return cell;
  const number = Number(cell);
  return Number.isSafeInteger(number) ? number : cell;
}
