import { countRestatements } from './dataset-restatement.ts';
import { DOMAINS, ENTITIES, PROVIDERS, REGIONS, TOPICS } from './dataset-vocabulary.ts';
import { readDayNumber } from './iso-day.ts';
import { decimalBetween, fractionOf, integerBetween, pickFrom } from './random.ts';

/** One place where an assistant's answer named an entity. */
export interface Mention {
  readonly mentionId: string;
  readonly date: string;
  readonly entity: string;
  readonly topicId: string;
  readonly provider: string;
  readonly region: string;
  readonly sentiment: number;
  readonly position: number | null;
  readonly citations: readonly string[];
  readonly source: { readonly domain: string; readonly url: string; readonly rank: number };
  readonly createdAt: string;
}

const FIRST_ID_DAY = readDayNumber('2020-01-01');

/** The mentions of the days, oldest first, as they stand on `day`. */
export function buildMentions(
  seed: number,
  day: string,
  days: readonly string[],
  perDay: number,
): readonly Mention[] {
  return days.flatMap((date) =>
    Array.from({ length: perDay }, (_, i) => buildMention(seed, day, { date, index: i, perDay })),
  );
}

/** Which mention of a day it is. */
interface MentionPlace {
  readonly date: string;
  readonly index: number;
  /** Mentions of each day. */
  readonly perDay: number;
}

function buildMention(seed: number, day: string, { date, index, perDay }: MentionPlace): Mention {
  const id = [seed, 'mention', date, index] as const;
  const version = countRestatements(day, date, seed, 'mention', index);
  const domain = pickFrom(DOMAINS, ...id, 'domain');
  const number = (readDayNumber(date) - FIRST_ID_DAY) * perDay + index;
  return {
    mentionId: `mn_${String(number).padStart(6, '0')}`,
    date,
    entity: pickFrom(ENTITIES, ...id, 'entity'),
    topicId: pickFrom(TOPICS, ...id, 'topic').topicId,
    provider: pickFrom(PROVIDERS, ...id, 'provider'),
    region: pickFrom(REGIONS, ...id, 'region'),
    sentiment: decimalBetween(-1, 1, 3, ...id, 'sentiment', version),
    position: fractionOf(...id, 'unranked') < 0.2 ? null : integerBetween(1, 10, ...id, 'position', version),
    citations: Array.from(
      { length: integerBetween(0, 3, ...id, 'citations') },
      (_, i) =>
        `https://${pickFrom(DOMAINS, ...id, 'citation', i)}/a/${integerBetween(1, 999, ...id, 'page', i)}`,
    ),
    source: {
      domain,
      url: `https://${domain}/posts/${integerBetween(1, 99_999, ...id, 'post')}?ref="answer"`,
      rank: integerBetween(1, 50, ...id, 'source'),
    },
    createdAt: `${date}T${writeTime(integerBetween(0, 86_399, ...id, 'time'))}Z`,
  };
}

function writeTime(secondOfDay: number): string {
  return new Date(secondOfDay * 1000).toISOString().slice(11, 19);
}
