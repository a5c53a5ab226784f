import { readWholeNumbers } from '../render/query-cells.ts';
import { formatQueryResult } from '../render/query-formats.ts';
import { writeJson } from '../render/write-json.ts';
import type { SyncError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import type { FoundRows } from './source.ts';

/** The longest text of an answer, in characters: more would fill the context of the model that asked. */
export const MOST_CHARACTERS = 40_000;
/** The longest value of a row; the rest of it can be read with substr(). */
const MOST_IN_VALUE = 4_000;

/** An answer as the protocol carries it. */
export interface Answer {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
}

/** Rows as JSON, at most `limit`, one row a line, with what was left out. Numbers stay exact: see `sluice query --format json`. */
export function answerRows(found: FoundRows, limit: number): Answer {
  const { columns, leftOut } = found;
  const { rows, cut } = cutValues(found.rows.slice(0, limit));
  const lines = formatQueryResult(readWholeNumbers({ columns, rows }), 'ndjson', undefined)
    .split('\n')
    .slice(0, rows.length);
  const head = writeJson(columns.map(({ name, type }) => ({ name, type })));
  const fitting = countFitting(lines, MOST_CHARACTERS - head.length);
  const notes = [
    ...(found.rows.length > limit ? [`There are more rows than the limit of ${formatCount(limit)}.`] : []),
    ...(fitting < lines.length
      ? [
          `Only the first ${formatCount(fitting)} rows fit into an answer: select fewer columns, or aggregate.`,
        ]
      : []),
    ...(cut > 0
      ? [
          `${formatCountOf(cut, 'value')} of more than ${formatCount(MOST_IN_VALUE)} characters ${verbOf(cut, 'was', 'were')} cut: use substr().`,
        ]
      : []),
    ...(leftOut.length > 0 ? [`Not published yet, so without rows here: ${leftOut.join(', ')}.`] : []),
  ];
  const members = [
    `"columns":${head}`,
    `"rows":[\n${lines.slice(0, fitting).join(',\n')}\n]`,
    `"rowCount":${fitting}`,
    ...(notes.length > 0 ? [`"notes":${writeJson(notes)}`] : []),
  ];
  return toAnswer(`{${members.join(',\n')}}`);
}

/** A result of a command as JSON. */
export function answerResult(result: unknown, hint: string): Answer {
  const text = writeJson(result);
  if (text.length <= MOST_CHARACTERS) return toAnswer(text);
  const note = `\n… cut: this is the start of ${formatCount(text.length)} characters. ${hint}`;
  return toAnswer(`${text.slice(0, MOST_CHARACTERS).toWellFormed()}${note}`);
}

/** An error as a result that the model can read and act on. */
export function answerError(error: SyncError): Answer {
  const { code, message, hint } = error;
  const text = writeJson({ error: { code, message: cutText(message), hint: cutText(hint) } });
  return { ...toAnswer(text), isError: true };
}

/**
 * Writes characters that cannot be seen, or that change the direction of a text, as escapes of JSON: its value stays the same.
 * Hidden text is a way to give a model instructions that no person sees.
 */
export function escapeHidden(json: string): string {
  return json.replaceAll(HIDDEN, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

const HIDDEN =
  /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

function toAnswer(text: string): Answer {
  return { content: [{ type: 'text', text: escapeHidden(text) }] };
}

function countFitting(lines: readonly string[], most: number): number {
  let left = most;
  const at = lines.findIndex((line) => (left -= line.length + 2) < 0);
  return at === -1 ? lines.length : at;
}

function cutValues(rows: FoundRows['rows']): { readonly rows: FoundRows['rows']; readonly cut: number } {
  let cut = 0;
  const kept = rows.map((row) =>
    row.map((cell) => {
      if (typeof cell !== 'string' || cell.length <= MOST_IN_VALUE) return cell;
      cut += 1;
      return cutText(cell);
    }),
  );
  return { rows: kept, cut };
}

function cutText(text: string): string {
  if (text.length <= MOST_IN_VALUE) return text;
  return `${text.slice(0, MOST_IN_VALUE).toWellFormed()}… (${formatCount(text.length)} characters)`;
}
