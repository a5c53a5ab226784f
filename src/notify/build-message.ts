import type { ExitCode } from '../model/errors.ts';
import type { NotifyEvent } from '../model/notify.ts';
import { formatCountOf } from '../text/format-count.ts';
import { escapeForTerminal } from '../text/redact.ts';
import type { ReportedError, RunReport, SchemaChange, StreamReport } from '../model/run-report.ts';
import { type EndedRun, exitCodeOf, listSchemaChanges, type Notice } from './notice.ts';

/** What a webhook or a program gets, as JSON. */
export interface NoticeMessage {
  readonly event: NotifyEvent;
  /** The notice in one line; chat services show this field. */
  readonly text: string;
  readonly summary: string;
  readonly ok: boolean;
  readonly exitCode: ExitCode;
  /** undefined for a run that could not start. */
  readonly runId: string | undefined;
  readonly status: string;
  readonly source: string;
  readonly startedAt: string | undefined;
  readonly finishedAt: string | undefined;
  readonly error: Pick<ReportedError, 'code' | 'message' | 'hint'> | undefined;
  /** Those that failed, drifted or changed first; at most 100. */
  readonly streams: readonly StreamFacts[];
  readonly streamCount: number;
  readonly version: string;
}

interface StreamFacts {
  readonly stream: string;
  readonly slice: string;
  readonly status: string;
  readonly verdict: string | undefined;
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
  readonly rowsQuarantined: number;
  readonly schemaChanges: readonly SchemaChange[];
  readonly error: Pick<ReportedError, 'code' | 'message' | 'hint'> | undefined;
}

/** What a message contains in addition to its run. */
export interface MessageFacts {
  /** Host of the API. */
  readonly source: string;
  readonly version: string;
}

const MOST_STREAMS = 100;
const MOST_ACCOUNTS = 100;
const MOST_NAMED = 5;
const LONGEST_TEXT = 1_000;

/**
 * The message of a notice. Text from the server is escaped and shortened; hiding secrets is up to the caller.
 */
export function buildMessage(notice: Notice, run: EndedRun, facts: MessageFacts): NoticeMessage {
  const { report } = run;
  const exitCode = exitCodeOf(run);
  const summary = toSafeText(notice.summary);
  const error = run.error ?? report?.error;
  return {
    event: notice.event,
    text: toChatText(`Sluice (${facts.source}): ${summary}`),
    summary,
    ok: exitCode === 0,
    exitCode,
    runId: report?.runId,
    status: report?.status ?? 'failed',
    source: facts.source,
    startedAt: report?.startedAt,
    finishedAt: report?.finishedAt,
    error: error && toSafeError(error),
    streams: listStreams(report),
    streamCount: report?.streams.length ?? 0,
    version: facts.version,
  };
}

/** What one account has to tell. */
export interface AccountSummary {
  readonly account: string;
  readonly event: NotifyEvent;
  readonly summary: string;
  readonly exitCode: ExitCode;
  readonly runId: string | undefined;
  readonly error: ReportedError | undefined;
}

/** What a webhook or a program gets after a sync of several accounts: one message for all that have the same to tell. */
export interface AccountsMessage extends Pick<
  NoticeMessage,
  'event' | 'text' | 'summary' | 'ok' | 'exitCode' | 'source' | 'error' | 'version'
> {
  /** Always undefined: each account has a run of its own. */
  readonly runId: undefined;
  /** At most 100; none where it is about what joins them. */
  readonly accounts: readonly (Omit<AccountSummary, 'event' | 'error'> & Pick<NoticeMessage, 'error'>)[];
  /** All that the sync was of. */
  readonly accountCount: number;
}

/** One message about several accounts; at least one. */
export function buildAccountsMessage(told: readonly AccountSummary[], facts: AccountsFacts): AccountsMessage {
  const [first] = told;
  const count = `${told.length} of ${formatCountOf(facts.accountCount, 'account')}`;
  const some = told.slice(0, MOST_NAMED).map(({ account, summary }) => `${account}: ${toSafeText(summary)}`);
  const more = told.length - some.length;
  const summary = `${count}: ${[...some, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')}`;
  return {
    ...toMessage({ event: first?.event ?? 'failure', summary }, first?.error, facts),
    accounts: told.slice(0, MOST_ACCOUNTS).map(({ event: _event, error, ...one }) => ({
      ...one,
      summary: toSafeText(one.summary),
      error: error && toSafeError(error),
    })),
  };
}

/** The message about what joins the accounts; no account is named in it. */
export function buildJointMessage(
  notice: Notice,
  error: ReportedError | undefined,
  facts: AccountsFacts,
): AccountsMessage {
  return { ...toMessage(notice, error, facts), accounts: [] };
}

type AccountsFacts = MessageFacts & Pick<AccountsMessage, 'exitCode' | 'accountCount'>;

function toMessage(
  { event, summary: said }: Pick<Notice, 'event' | 'summary'>,
  error: ReportedError | undefined,
  facts: AccountsFacts,
): Omit<AccountsMessage, 'accounts'> {
  const summary = toSafeText(said);
  return {
    ...facts,
    event,
    text: toChatText(`Sluice (${facts.source}): ${summary}`),
    summary,
    ok: facts.exitCode === 0,
    runId: undefined,
    error: error && toSafeError(error),
  };
}

function listStreams(report: RunReport | undefined): readonly StreamFacts[] {
  return (report?.streams ?? [])
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, MOST_STREAMS)
    .map((report) => ({
      stream: report.stream,
      slice: toSafeText(report.slice),
      status: report.status,
      verdict: report.verdict,
      rowsInserted: report.rows.inserted,
      rowsUpdated: report.rows.updated,
      rowsDeleted: report.rows.deleted,
      rowsQuarantined: report.rows.quarantined,
      schemaChanges: listSchemaChanges(report).map((change) => ({
        ...change,
        column: toSafeText(change.column),
      })),
      error: report.error && toSafeError(report.error),
    }));
}

function rank(report: StreamReport): number {
  const { error, verdict } = report;
  if (error !== undefined) return 0;
  if (verdict !== undefined && verdict !== 'verified') return 1;
  return listSchemaChanges(report).length > 0 ? 2 : 3;
}

function toSafeError({ code, message, hint }: ReportedError): NoticeMessage['error'] {
  return { code, message: toSafeText(message), hint: toSafeText(hint) };
}

function toSafeText(text: string): string {
  const safe = escapeForTerminal(text.replaceAll(/\r\n|\r|\n/g, ' '));
  return safe.length <= LONGEST_TEXT ? safe : `${safe.slice(0, LONGEST_TEXT)}...`;
}

/** Chat services interpret `<!channel>` and `<https://…|text>`; text from a server must not trigger that. */
function toChatText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
