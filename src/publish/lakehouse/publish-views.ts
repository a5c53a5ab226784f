import type { SqlSession } from '../../model/sql.ts';
import { planViews } from '../../views/plan-views.ts';
import { readViewTables } from '../../views/read-view-tables.ts';
import type { View } from '../../views/view.ts';
import { ATTACHED } from '../../warehouse/database-options.ts';
import type { Lakehouse, StoredTable } from './lakehouse.ts';
import { nameInLake, OWN_TABLES } from './names.ts';
import type { ViewKeeper } from './view-keeper.ts';

/** A view that was made here. */
interface RecordedView {
  /** What it was made of. */
  readonly plan: string;
  /** What the catalog had of it then: another program may have made one of the same name since. */
  readonly definition: string;
}

/** The views of one publish, in its transaction. */
export class ViewsPublish {
  readonly #session: SqlSession;
  readonly #lakehouse: Lakehouse;
  readonly #keeper: ViewKeeper;
  readonly #warn: (message: string) => void;
  #due: readonly View[] = [];
  #plans = new Map<string, string>();
  #kept = new Map<string, RecordedView>();
  #recorded: ReadonlyMap<string, RecordedView> = new Map();

  constructor(
    session: SqlSession,
    lakehouse: Lakehouse,
    keeper: ViewKeeper,
    warn: (message: string) => void,
  ) {
    this.#session = session;
    this.#lakehouse = lakehouse;
    this.#keeper = keeper;
    this.#warn = warn;
  }

  get #list(): string {
    return nameInLake(this.#lakehouse.destination, '_sluice', OWN_TABLES.views);
  }

  /**
   * Plans the views, and drops those of ours that will not stay: a view would keep its table from losing a column. Views
   * that others made, under whatever name, stay as they are.
   */
  async prepare(tables: readonly StoredTable[]): Promise<void> {
    const recorded = await this.#read();
    this.#recorded = recorded;
    const found = await this.#keeper.list(this.#session);
    const isOurs = (name: string) => {
      const definition = recorded.get(name)?.definition;
      return definition !== undefined && found.get(name) === definition;
    };
    const stored = new Set(tables.map(({ name }) => name));
    const taken = [...found.keys()].filter((name) => !stored.has(name) && !isOurs(name));
    const { dialect } = this.#keeper;
    const { views, notes } = planViews(await readViewTables(this.#session, { database: ATTACHED }), {
      dialect,
      taken: taken.filter((name) => name.startsWith('main.')).map((name) => name.slice('main.'.length)),
    });
    notes.forEach(this.#warn);
    const planned = views.filter(({ schema, name }) => !taken.includes(`${schema}.${name}`));
    const columns = new Map(tables.map((table) => [table.name, JSON.stringify(table.columns)]));
    this.#plans = new Map(
      planned.map((view) => [
        `${view.schema}.${view.name}`,
        `${view.select}\n${columns.get(`main.${view.of ?? ''}`) ?? ''}`,
      ]),
    );
    const outdated: string[] = [];
    for (const [name, view] of recorded) {
      if (!isOurs(name)) continue;
      if (view.plan === this.#plans.get(name)) this.#kept.set(name, view);
      else outdated.push(name);
    }
    for (const name of outdated) await this.#keeper.drop(this.#session, splitView(name));
    await this.#keepUsed(outdated, recorded);
    this.#due = planned.filter(({ schema, name }) => !this.#kept.has(`${schema}.${name}`));
  }

  /** What views of others use cannot be dropped; it is tried again with the next publish. */
  async #keepUsed(outdated: readonly string[], recorded: ReadonlyMap<string, RecordedView>): Promise<void> {
    if (outdated.length === 0) return;
    const found = await this.#keeper.list(this.#session);
    for (const name of outdated) {
      const view = recorded.get(name);
      if (view === undefined || !found.has(name)) continue;
      this.#kept.set(name, view);
      const { path } = this.#lakehouse.destination;
      this.#warn(`${path}: the view ${name} stays as it was, because others depend on it`);
    }
  }

  /** Makes the views that are due, once their tables are as they should be. */
  async create(): Promise<void> {
    const made: string[] = [];
    for (const view of this.#due) {
      if (await this.#keeper.create(this.#session, view)) made.push(`${view.schema}.${view.name}`);
      else this.#warn(`${this.#lakehouse.destination.path}: there is no view of ${view.about}`);
    }
    const found = made.length === 0 ? new Map<string, string>() : await this.#keeper.list(this.#session);
    for (const name of made) {
      const [plan, definition] = [this.#plans.get(name), found.get(name)];
      if (plan !== undefined && definition !== undefined) this.#kept.set(name, { plan, definition });
    }
    await this.#write();
  }

  async #read(): Promise<ReadonlyMap<string, RecordedView>> {
    await this.#session.run(
      `CREATE TABLE IF NOT EXISTS ${this.#list} (name VARCHAR, plan VARCHAR, definition VARCHAR)`,
    );
    const rows = await this.#session.all(`SELECT name, plan, definition FROM ${this.#list}`);
    return new Map(
      rows.map(({ name, plan, definition }) => [
        String(name),
        { plan: String(plan), definition: String(definition) },
      ]),
    );
  }

  async #write(): Promise<void> {
    const isSame =
      this.#recorded.size === this.#kept.size &&
      [...this.#kept].every(([name, { definition, plan }]) => {
        const one = this.#recorded.get(name);
        return one?.definition === definition && one.plan === plan;
      });
    if (isSame) return;
    await this.#session.run(`DELETE FROM ${this.#list}`);
    for (const [name, { plan, definition }] of this.#kept)
      await this.#session.run(`INSERT INTO ${this.#list} VALUES ($1, $2, $3)`, [name, plan, definition]);
  }
}

function splitView(name: string): Pick<View, 'schema' | 'name'> {
  const at = name.indexOf('.');
  return { schema: name.slice(0, at) === 'main' ? 'main' : '_sluice', name: name.slice(at + 1) };
}
