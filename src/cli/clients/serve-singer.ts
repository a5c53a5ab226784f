import { judgeRun } from '../../clients/judge-run.ts';
import type { SelectedStream } from '../../clients/singer-catalog.ts';
import {
  activateMessage,
  createSingerWriter,
  schemaMessage,
  singerState,
} from '../../clients/singer-messages.ts';
import type { Bookmark } from '../../clients/singer-state.ts';
import type { ChangeReader } from '../../commands/clients/read-changes.ts';
import { AbortedError, type ExitCode, toSyncError } from '../../model/errors.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { describeLimit } from './describe-failure.ts';
import type { LineWriter } from './line-writer.ts';
import type { OpenConnection } from './open-connection.ts';
import { sendRows } from './send-rows.ts';
import { syncFirst } from './sync-first.ts';
import { formatCountOf } from '../../text/format-count.ts';

/** What a Singer target is to receive. */
export interface SingerRead {
  readonly connection: OpenConnection;
  readonly selected: readonly SelectedStream[];
  readonly bookmarks: ReadonlyMap<string, Bookmark>;
}

/** Syncs, and then sends the rows that changed since the state; returns the exit code of the sync. */
export async function serveSinger(
  context: CliContext,
  globals: GlobalValues,
  lines: LineWriter,
  { connection, selected, bookmarks: before }: SingerRead,
): Promise<ExitCode> {
  const { engine, clock } = context;
  const names = selected.map(({ name }) => name);
  if (names.length === 0) {
    note(context, 'warning: the catalog selects no stream');
    return 0;
  }
  const ended = await syncFirst(context, globals, connection, names);
  if (ended.error instanceof AbortedError) throw ended.error;
  const judged = judgeRun(ended, names);
  for (const { stream, error } of judged.failures)
    note(context, `error: ${stream === undefined ? '' : `${stream}: `}${error.message}\n${error.hint}`);
  for (const [stream, end] of judged.ends)
    if (end.kind === 'limited') note(context, `${stream}: ${describeLimit(end.error)}`);
  let code: ExitCode = judged.exitCode;
  if (!judged.maySend) return code;
  // Of streams that are not selected, too: they continue from there later.
  const bookmarks = new Map(before);
  await engine.clients.withChanges(connection.settings, { clock }, async (reader) => {
    for (const stream of selected) {
      try {
        await sendStream(context, lines, { reader, stream, bookmarks });
      } catch (thrown) {
        const error = toSyncError(thrown);
        if (error instanceof AbortedError || error.code === 'storage_failed') throw error;
        note(context, `error: ${stream.name}: ${error.message}\n${error.hint}`);
        code = code === 0 || code === 75 ? toReportedError(error).exitCode : code;
      }
    }
  });
  return code;
}

interface SingerScope {
  readonly reader: ChangeReader;
  readonly stream: SelectedStream;
  readonly bookmarks: Map<string, Bookmark>;
}

async function sendStream(
  context: CliContext,
  lines: LineWriter,
  { reader, stream: { name, excluded }, bookmarks }: SingerScope,
): Promise<void> {
  const known = reader.streams.find((stream) => stream.name === name);
  if (known === undefined) {
    note(context, `${name}: there is no table of it yet, or it is not masked yet as the config says`);
    return;
  }
  const columns = known.columns
    .map((column) => column.name)
    .filter((column) => !excluded.has(column) || known.key?.includes(column) === true);
  const from = bookmarks.get(name);
  const delivery = await reader.deliver({ stream: name, columns, from, wantsWhole: false });
  if (delivery === undefined) return;
  const { stream, position, again, isWhole } = delivery;
  if (again !== undefined) note(context, `warning: ${name}: the whole table is sent again, because ${again}`);
  // A state may be lost, and the clock may have been ahead: the log still has the highest version that was given out.
  const tableVersion =
    isWhole || from === undefined
      ? Math.max(position.version, (from?.table_version ?? 0) + 1)
      : from.table_version;
  await lines.writeJson(schemaMessage(stream, columns));
  const extractedAt = new Date(context.clock.now()).toISOString();
  const count = await sendRows(lines, delivery, createSingerWriter(stream, { tableVersion, extractedAt }));
  // The rows of earlier versions are those that are gone.
  if (isWhole) await lines.writeJson(activateMessage(name, tableVersion));
  bookmarks.set(name, { ...position, table_version: tableVersion });
  await lines.writeJson(singerState(bookmarks));
  note(
    context,
    `${name}: ${formatCountOf(count, 'record')}, ${isWhole ? 'the whole table' : 'what changed since the state'}`,
  );
}

function note({ output }: CliContext, text: string): void {
  output.writeNote(text);
}
