import type { Scenario, ScenarioGroup } from '../simulator/scenario.ts';
import { wrapText } from './wrap-text.ts';

/** A scenario as `--json` shows it. */
export interface ScenarioResult extends Pick<Scenario, 'name' | 'sentence' | 'watch' | 'stream' | 'steps'> {
  readonly group?: string;
}

/** The scenario without the members that only the simulator needs. */
export function describeScenario({ name, sentence, watch, stream, steps }: Scenario): ScenarioResult {
  return { name, sentence, watch, stream, steps };
}

/** A group's scenarios as `--json` lists them. */
export function toScenarioResult({ title, scenarios }: ScenarioGroup): readonly ScenarioResult[] {
  return scenarios.map((scenario) => ({ group: title, ...describeScenario(scenario) }));
}

/** The scenarios for people: each name with what the API does below it. */
export function renderScenarios(groups: readonly ScenarioGroup[], columns: number | undefined): string {
  const parts = groups.map(({ title, scenarios }) =>
    [title, ...scenarios.flatMap(({ name, sentence }) => [`  ${name}`, `      ${sentence}`])].join('\n'),
  );
  const start = 'Start one with: sluice simulate --scenario <name>';
  return wrapText([...parts, start].join('\n\n'), columns, 6);
}
