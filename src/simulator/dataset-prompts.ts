import { countRestatements } from './dataset-restatement.ts';
import { PROMPT_FORMS, PROVIDERS, REGIONS, TAGS, TOPICS } from './dataset-vocabulary.ts';
import { decimalBetween, fractionOf, integerBetween, pickFrom } from './random.ts';

/** How one prompt was answered on one day. */
export interface PromptAnalytics {
  readonly promptId: string;
  readonly date: string;
  readonly prompt: string;
  readonly topicId: string;
  readonly topicName: string;
  readonly provider: string;
  readonly region: string;
  readonly visibilityScore: number;
  readonly mentions: number;
  readonly rank: number | null;
  readonly meta: { readonly model: string; readonly tokens: number; readonly tags: readonly string[] };
}

/** One row per prompt for each of the days, in the order of the days, as they stand on `day`. */
export function buildPromptsAnalytics(
  seed: number,
  day: string,
  days: readonly string[],
  prompts: number,
): readonly PromptAnalytics[] {
  return days.flatMap((date) => Array.from({ length: prompts }, (_, i) => buildRow(seed, day, date, i + 1)));
}

function buildRow(seed: number, day: string, date: string, number: number): PromptAnalytics {
  const prompt = [seed, 'prompt', number] as const;
  const version = countRestatements(day, date, ...prompt);
  const measured = [...prompt, date, version] as const;
  const topic = pickFrom(TOPICS, ...prompt, 'topic');
  const provider = pickFrom(PROVIDERS, ...prompt, 'provider');
  return {
    promptId: `pr_${String(number).padStart(4, '0')}`,
    date,
    prompt: pickFrom(PROMPT_FORMS, ...prompt, 'form').replace('{}', topic.topicName),
    topicId: topic.topicId,
    topicName: topic.topicName,
    provider,
    region: pickFrom(REGIONS, ...prompt, 'region'),
    visibilityScore: decimalBetween(0, 100, 2, ...measured, 'visibility'),
    mentions: integerBetween(0, 40, ...measured, 'mentions'),
    rank: fractionOf(...prompt, date, 'unranked') < 0.15 ? null : integerBetween(1, 20, ...measured, 'rank'),
    meta: {
      model: `${provider}-${integerBetween(3, 5, ...prompt, 'model')}`,
      tokens: integerBetween(80, 900, ...prompt, date, 'tokens'),
      tags: TAGS.filter((tag) => fractionOf(...prompt, tag) < 0.35),
    },
  };
}
