import { readWholeNumbers } from '../render/query-cells.ts';
import { formatQueryResult } from '../render/query-formats.ts';
import { writeJson } from '../render/write-json.ts';
import type { SyncError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import type { FoundRows } from './source.ts';

/** The longest text of an answer, in characters: more would fill the context of the model that asked. */
export const MOST_CHARACTERS = 40_000;
/** The most of them for names and types of columns. */
const MOST_IN_HEAD = MOST_CHARACTERS / 2;
/** The longest value of a row; the rest of it can be read with substr(). */
const MOST_IN_VALUE = 4_000;
/** The same for each text of an error, all of which may be escapes. */
const MOST_IN_ERROR = 2_000;

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
    .slice(0, rows.length)
    .map((line) => escapeHidden(line));
  const heads = columns.map(({ name, type }) =>
    escapeHidden(writeJson({ name: cutText(name), type: cutText(type) })),
  );
  const named = countFitting(heads, MOST_IN_HEAD);
  const head = `[${heads.slice(0, named).join(',')}]`;
  const fitting = countFitting(lines, MOST_CHARACTERS - head.length);
  const notes = [
    ...(named < columns.length
      ? [
          `Only the first ${formatCount(named)} of ${formatCount(columns.length)} columns are listed: select fewer columns.`,
        ]
      : []),
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
  const text = escapeHidden(writeJson(result));
  if (text.length <= MOST_CHARACTERS) return toAnswer(text);
  const note = `\n… cut: this is the start of ${formatCount(text.length)} characters. ${hint}`;
  return toAnswer(`${text.slice(0, MOST_CHARACTERS).toWellFormed()}${note}`);
}

/** An error as a result that the model can read and act on. */
export function answerError(error: SyncError): Answer {
  const { code, message, hint } = error;
  const text = writeJson({
    error: { code, message: cutText(message, MOST_IN_ERROR), hint: cutText(hint, MOST_IN_ERROR) },
  });
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

function cutText(text: string, most = MOST_IN_VALUE): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).toWellFormed()}… (${formatCount(text.length)} characters)`;
}
