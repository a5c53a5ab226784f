/** A table takes no change of its columns any more: it has to be dropped, outside of a publish, and made again by one. */
export class StuckTableError extends Error {
  override readonly name = 'StuckTableError';
  /** Name of the table in the work file. */
  readonly table: string;

  constructor(table: string) {
    super(`the columns of ${table} cannot be changed`);
    this.table = table;
  }
}
