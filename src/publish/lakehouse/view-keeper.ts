import type { SqlSession } from '../../model/sql.ts';
import type { Dialect, View } from '../../views/view.ts';

/** A lakehouse that has views, and how they are made there. */
export interface ViewKeeper {
  readonly dialect: Dialect;
  /**
   * Tables and views by their names in the work file, `main.items`; of a view, the SQL that the catalog has of it, which
   * changes with it.
   */
  list(session: SqlSession): Promise<ReadonlyMap<string, string | undefined>>;
  /** Makes a view; false where that is not possible. The transaction can be used further either way. */
  create(session: SqlSession, view: View): Promise<boolean>;
  /** Drops a view, unless others depend on it. */
  drop(session: SqlSession, view: Pick<View, 'schema' | 'name'>): Promise<void>;
}
