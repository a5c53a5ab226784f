import { planElementViews } from './elements-view.ts';
import { planHealthView } from './health-view.ts';
import { planLatestView } from './latest-view.ts';
import type { Dialect, View, ViewTable } from './view.ts';

/** The views to make, and what to say about names that are taken. */
export interface PlannedViews {
  readonly views: readonly View[];
  readonly notes: readonly string[];
}

/** Where views are made. */
export interface ViewPlace {
  readonly dialect: Dialect;
  /** The tables have a column for the account. */
  readonly isJoint?: boolean;
  /** Names in `main` that others have there. */
  readonly taken?: readonly string[];
}

/**
 * Plans the views of tables. A table keeps its name, and so does what others made: a view that would have the same
 * one gets `_view` behind it. Names of the engine have no case.
 */
export function planViews(
  tables: readonly ViewTable[],
  { dialect, isJoint = false, taken = [] }: ViewPlace,
): PlannedViews {
  const own = tables.flatMap(({ name, hasHistory }) => (hasHistory ? [name, `${name}_history`] : [name]));
  const used = new Set([...own, ...taken].map((name) => name.toLowerCase()));
  const views: View[] = [];
  const notes: string[] = [];
  const latest = tables.flatMap((table) => planLatestView(table, dialect) ?? []);
  for (const view of [...latest, ...tables.flatMap((table) => planElementViews(table, dialect))]) {
    let { name } = view;
    while (used.has(name.toLowerCase())) name = `${name}_view`;
    if (name !== view.name)
      notes.push(`${view.name} is taken, so the view of ${view.about} is called ${name}`);
    if ([name, ...(view.names ?? [])].every((one) => dialect.mayName(one))) {
      used.add(name.toLowerCase());
      views.push({ ...view, name });
    } else notes.push(`there is no view of ${view.about}: its name, or that of a column, would be too long`);
  }
  return { views: [...views, planHealthView(tables, dialect, isJoint)], notes };
}
