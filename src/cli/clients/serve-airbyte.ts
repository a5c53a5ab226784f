import { findCatalogProblems, type WantedStream } from '../../clients/airbyte-catalog.ts';
import {
  createRecordWriter,
  errorMessage,
  logMessage,
  stateMessage,
  statusMessage,
} from '../../clients/airbyte-messages.ts';
import type { AirbyteState } from '../../clients/airbyte-state.ts';
import { type JudgedRun, judgeRun, type StreamEnd } from '../../clients/judge-run.ts';
import type { ChangeReader } from '../../commands/clients/read-changes.ts';
import { AbortedError, type ExitCode, toSyncError } from '../../model/errors.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { describeFailure, describeLimit } from './describe-failure.ts';
import type { LineWriter } from './line-writer.ts';
import type { OpenConnection } from './open-connection.ts';
import { sendRows } from './send-rows.ts';
import { syncFirst } from './sync-first.ts';
import { formatCountOf } from '../../text/format-count.ts';

/** What an Airbyte client asks for. */
export interface AirbyteRead {
  readonly connection: OpenConnection;
  readonly wanted: readonly WantedStream[];
  readonly state: AirbyteState;
}

/** Syncs, and then sends the rows that changed since the client's state; returns the exit code for the client. */
export async function serveAirbyte(
  context: CliContext,
  globals: GlobalValues,
  lines: LineWriter,
  read: AirbyteRead,
): Promise<ExitCode> {
  return new AirbyteSession(context, lines, read).run(globals);
}

class AirbyteSession {
  readonly #context: CliContext;
  readonly #lines: LineWriter;
  readonly #read: AirbyteRead;
  /** Of what failed while rows were sent. */
  #sendCode: ExitCode | undefined;
  /** Streams whose end was told. */
  readonly #told = new Set<string>();

  constructor(context: CliContext, lines: LineWriter, read: AirbyteRead) {
    this.#context = context;
    this.#lines = lines;
    this.#read = read;
  }

  async run(globals: GlobalValues): Promise<ExitCode> {
    const { connection, wanted, state } = this.#read;
    const names = wanted.map(({ name }) => name);
    for (const name of names) await this.#tellStatus(name, 'STARTED');
    for (const ignored of state.ignored)
      await this.#warn(`${ignored} was not written by Sluice: rows may be sent again`);
    const ended = await syncFirst(this.#context, globals, connection, names);
    if (ended.error instanceof AbortedError) throw ended.error;
    for (const warning of ended.warnings) await this.#warn(warning);
    const judged = judgeRun(ended, names);
    for (const { stream, error } of judged.failures) await this.#tellFailure(error, stream);
    if (judged.maySend) await this.#sendAll(judged).catch((thrown: unknown) => this.#endAll(thrown));
    for (const name of names) if (!this.#told.has(name)) await this.#tellStatus(name, 'INCOMPLETE');
    return this.#sendCode ?? toClientCode(judged);
  }

  async #sendAll(judged: JudgedRun): Promise<void> {
    const { connection, wanted } = this.#read;
    const { engine, clock } = this.#context;
    await engine.clients.withChanges(connection.settings, { clock }, async (reader) => {
      for (const stream of wanted) {
        const end = judged.ends.get(stream.name) ?? { kind: 'complete' };
        await this.#sendStream(reader, stream, end);
      }
    });
  }

  /** Nothing can be sent, or nothing more. */
  async #endAll(thrown: unknown): Promise<void> {
    const error = toSyncError(thrown);
    if (error instanceof AbortedError) throw error;
    this.#sendCode ??= error.exitCode;
    await this.#tellFailure(toReportedError(error), undefined);
  }

  async #sendStream(reader: ChangeReader, wanted: WantedStream, end: StreamEnd): Promise<void> {
    const { name } = wanted;
    try {
      await this.#sendChanges(reader, wanted);
    } catch (thrown) {
      const error = toSyncError(thrown);
      // The other streams would fail as well.
      if (error instanceof AbortedError || error.code === 'storage_failed') throw error;
      this.#sendCode ??= error.exitCode;
      await this.#tellFailure(toReportedError(error), name);
      await this.#tellStatus(name, 'INCOMPLETE');
      return;
    }
    if (end.kind === 'limited') await this.#inform(`${name}: ${describeLimit(end.error)}`);
    const quotaReset = end.kind === 'limited' ? end.quotaReset : undefined;
    await this.#tellStatus(name, end.kind === 'complete' ? 'COMPLETE' : 'INCOMPLETE', quotaReset);
  }

  async #sendChanges(reader: ChangeReader, wanted: WantedStream): Promise<void> {
    const { name, wantsWhole, fields } = wanted;
    const from = this.#read.state.positions.get(name);
    const delivery = await reader.deliver({ stream: name, from, wantsWhole, kept: fields });
    if (delivery === undefined)
      return this.#inform(`${name}: there is no table of it yet, or it is not masked yet as the config says`);
    const { stream, position, again } = delivery;
    if (again !== undefined)
      await this.#warn(
        `${name}: the whole table is sent again, because ${again}. Rows that were deleted meanwhile may stay in the destination: refresh the stream there to be sure.`,
      );
    for (const problem of findCatalogProblems(stream, wanted)) await this.#warn(problem);
    const nowMs = this.#context.clock.now();
    const isKeyed = stream.key !== undefined;
    const describe = createRecordWriter(name, { version: position.version, isKeyed, nowMs });
    const count = await sendRows(this.#lines, delivery, describe, () => this.#tellStatus(name, 'RUNNING'));
    await this.#lines.writeJson(stateMessage(name, position, count));
    await this.#inform(
      `${name}: ${formatCountOf(count, 'record')}, ${delivery.isWhole ? 'the whole table' : 'what changed since the state'}`,
    );
  }

  #tellStatus(
    stream: string,
    status: Parameters<typeof statusMessage>[1],
    quotaReset?: number,
  ): Promise<void> {
    const nowMs = this.#context.clock.now();
    if (status === 'COMPLETE' || status === 'INCOMPLETE') this.#told.add(stream);
    return this.#lines.writeJson(statusMessage(stream, status, { nowMs, quotaReset }));
  }

  #tellFailure(error: ReportedError, stream: string | undefined): Promise<void> {
    return this.#lines.writeJson(
      errorMessage({ ...describeFailure(error), stream }, this.#context.clock.now()),
    );
  }

  #warn(text: string): Promise<void> {
    return this.#lines.writeJson(logMessage('WARN', text));
  }

  #inform(text: string): Promise<void> {
    return this.#lines.writeJson(logMessage('INFO', text));
  }
}

/** A limit ends with 0: with any other code, clients throw away all that they received. */
function toClientCode({ exitCode, failures }: JudgedRun): ExitCode {
  return exitCode === 75 && failures.length === 0 ? 0 : exitCode;
}
