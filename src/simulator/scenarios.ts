import type { Scenario, ScenarioGroup } from './scenario.ts';
import { answerScenarios } from './scenarios-answers.ts';
import { dayScenarios } from './scenarios-days.ts';
import { movingScenarios } from './scenarios-moving.ts';
import { pagingScenarios } from './scenarios-paging.ts';

/** What there is to rehearse, in groups. */
export const scenarioGroups: readonly ScenarioGroup[] = [
  { title: 'Data that moves while it is read', scenarios: movingScenarios },
  { title: 'Data that changes overnight', scenarios: dayScenarios },
  { title: 'Servers that page differently from what they say', scenarios: pagingScenarios },
  { title: 'Invalid responses and server failures', scenarios: answerScenarios },
];

/** Every scenario, in the order of its groups. */
export const scenarios: readonly Scenario[] = scenarioGroups.flatMap((group) => group.scenarios);
