import type { SimulatorOptions } from './simulator-options.ts';

/** What a user runs against a scenario, one after the other. */
export type ScenarioStep = 'sync' | 'sync --force' | 'sync --full-refresh' | 'advance-day';

/** A way the service misbehaves, for rehearsals. */
export interface Scenario {
  readonly name: string;
  /** What the service does, as one sentence. */
  readonly sentence: string;
  /** What a sync of it shows, as one sentence. */
  readonly watch: string;
  /** The stream it is about; the others are sound. */
  readonly stream: ScenarioStream;
  readonly steps: readonly ScenarioStep[];
  /** Created for each simulator: faults count what they hit. */
  options(): ScenarioOptions;
}

/** Scenarios of one kind. */
export interface ScenarioGroup {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

export type ScenarioStream = 'prompts_analytics' | 'visibility_mentions';

/** The part of a simulator that scenarios decide. */
export type ScenarioOptions = Pick<SimulatorOptions, 'faults' | 'reshape' | 'requireEntity'>;

/** The endpoint that scenarios are about: paged, newest rows first, 1,800 of them on the first day. */
export const SCENARIO_PATH = 'prompts/analytics';

/** A scenario of the paged stream, shown by one sync. */
export function pagedScenario(
  scenario: Pick<Scenario, 'name' | 'sentence' | 'watch' | 'options'> & Partial<Pick<Scenario, 'steps'>>,
): Scenario {
  return { stream: 'prompts_analytics', steps: ['sync'], ...scenario };
}
