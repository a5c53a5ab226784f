import type { JsonType } from '../model/schema.ts';

/** What is known about how a column got its type. */
export interface TypeFacts {
  readonly type: string;
  readonly jsonTypes: readonly JsonType[] | undefined;
  /** The config sets the type. */
  readonly isForced: boolean;
  /** The column that has the values which do not fit. */
  readonly companion: string | undefined;
}

const NAMES: Readonly<Record<JsonType, string>> = {
  boolean: 'booleans',
  integer: 'whole numbers',
  number: 'numbers',
  string: 'text',
  array: 'lists',
  object: 'objects',
};

const TEXT_FORMS: Readonly<Record<string, string>> = {
  DATE: 'dates',
  TIMESTAMP: 'times without an offset',
  TIMESTAMPTZ: 'times with an offset',
};

/** What a column's type was chosen by, in words that stay true; undefined where nobody remembers. */
export function describeEvidence({ type, jsonTypes, isForced, companion }: TypeFacts): string | undefined {
  const others = companion === undefined ? '' : `; values that do not fit are in ${companion}`;
  if (isForced) return `the config sets the type${others}`;
  const form = TEXT_FORMS[type];
  if (companion !== undefined) return `the first values were ${form ?? 'of this type'}${others}`;
  if (form !== undefined) return `all values were ${form}`;
  if (jsonTypes === undefined || jsonTypes.length === 0) return undefined;
  return `all values were ${jsonTypes.map((one) => NAMES[one]).join(' or ')}`;
}
