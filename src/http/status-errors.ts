import type { Connector } from '../model/connector.ts';
import {
  AuthError,
  ConfigError,
  type ErrorContext,
  ForbiddenError,
  NetworkError,
  NotFoundError,
  QuotaError,
  ResponseError,
  type SyncError,
} from '../model/errors.ts';
import type { ApiRequest, TransportResponse } from '../model/http.ts';
import { quoteServerText } from '../text/redact.ts';
import { NO_TABLE_CHANGED } from '../text/what-is-safe.ts';
import { buildContext, describeRequest, readRequestId } from './describe-request.ts';
import { readErrorEnvelope } from './error-envelope.ts';
import { readSingleHeader } from './header-values.ts';
import { formatUtc } from './quota-errors.ts';
import { isRetryableStatus } from './retry-delay.ts';

/** An answer without success, after the last try. */
export interface FailedAnswer {
  readonly request: ApiRequest;
  readonly response: TransportResponse;
  readonly tries: number;
  readonly connector: Connector;
  readonly secrets: readonly string[];
  /** When the key may be used again after a 429, or the server wants to be asked again, epoch ms. */
  readonly resumeAtMs: number | undefined;
}

/** The error that says what a status outside 2xx means and what to do about it. */
export function buildStatusError(answer: FailedAnswer): SyncError {
  const { request, response, connector } = answer;
  const { status } = response;
  const requestId = readRequestId(response.headers, answer.secrets);
  const context = buildContext(request, { status, requestId });
  const message = describeAnswer(answer, requestId);
  // 304 answers a condition that no request sets; it leads nowhere.
  if (status >= 300 && status <= 399 && status !== 304) return buildRedirectError(answer, context);
  if (isRetryableStatus(status)) {
    const { resumeAtMs } = answer;
    return new NetworkError(message, {
      code: 'server_failed',
      hint:
        resumeAtMs === undefined
          ? `${NO_TABLE_CHANGED} The server may recover: run again later.`
          : `${NO_TABLE_CHANGED} The server asked for a pause (Retry-After): run again after ${formatUtc(resumeAtMs)}.`,
      context,
      resumeAtMs,
    });
  }
  switch (status) {
    case 401:
      return new AuthError(message, {
        code: 'key_rejected',
        hint: `The key is one of: ${connector.auth.rejectionCauses.join(', ')}. Make a new one in ${connector.auth.whereKeysAreMade}. ${NO_TABLE_CHANGED}`,
        context,
      });
    case 403:
      return new ForbiddenError(message, {
        code: 'key_forbidden',
        hint: `The key is valid but its account may not read this endpoint: ask for the permission, or disable the stream. ${NO_TABLE_CHANGED}`,
        context,
      });
    case 404:
      return new NotFoundError(message, {
        code: 'stream_not_found',
        hint: `Check the stream's path and the ids in its params (account, competitor, topic), or disable the stream. ${NO_TABLE_CHANGED}`,
        context,
      });
    case 407:
      return new ConfigError(message, {
        code: 'config_invalid',
        hint: 'A proxy asks for credentials: put them into HTTPS_PROXY, or exempt the host with NO_PROXY.',
        context,
      });
    case 429:
      return new QuotaError(message, {
        code: 'quota_exhausted',
        hint: `Progress is saved. Run again ${answer.resumeAtMs === undefined ? 'later' : `after ${formatUtc(answer.resumeAtMs)}`}.`,
        context,
        resumeAtMs: answer.resumeAtMs,
      });
    default:
      return new ResponseError(message, { code: 'request_rejected', hint: adviseOnRefusal(answer), context });
  }
}

function describeAnswer(answer: FailedAnswer, requestId: string | undefined): string {
  const { request, response, tries, secrets } = answer;
  const envelope = readErrorEnvelope(response.body);
  const code = envelope.code === undefined ? '' : ` ${quoteServerText(envelope.code, secrets, 60)}`;
  const text = envelope.message === undefined ? '' : `: ${quoteServerText(envelope.message, secrets)}`;
  const notes = [
    tries > 1 ? `after ${tries} tries` : undefined,
    requestId === undefined ? undefined : `request id ${requestId}`,
  ].filter((note) => note !== undefined);
  const suffix = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  return `${describeRequest(request)}: the API answered ${response.status}${code}${text}${suffix}`;
}

/** A refusal that names a parameter is fixed by one line of config: this one. */
function adviseOnRefusal({ request, response, connector }: FailedAnswer): string {
  const { message = '' } = readErrorEnvelope(response.body);
  const named = connector.filterParams.find((name) => new RegExp(`\\b${name}\\b`).test(message));
  if (named === undefined) {
    return `${NO_TABLE_CHANGED} Check the stream's params, or the path, against the API's documentation: retrying cannot help.`;
  }
  // A parameter that is there and wrong is fixed by one value; one that is missing may take several.
  const isMissing = /\b(missing|required)\b/i.test(message);
  const params = isMissing ? `params: { ${named}: [a, b] }, sliceBy: [${named}]` : `params: { ${named}: … }`;
  const line = `streams: { ${request.stream}: { ${params} } }`;
  const effect = isMissing ? `e.g. ${line}, which reads each value by itself` : line;
  return `${NO_TABLE_CHANGED} Set the parameter in the config, ${effect}; retrying cannot help.`;
}

/** Names only the host of the target: the rest of a URL may hold anything. */
function buildRedirectError(answer: FailedAnswer, context: ErrorContext): ResponseError {
  const { request, response, secrets } = answer;
  const location = readSingleHeader(response.headers, 'location');
  const target =
    location !== undefined && URL.canParse(location, request.url.href)
      ? new URL(location, request.url.href)
      : undefined;
  const host =
    target === undefined ? 'nowhere' : quoteServerText(target.host || target.protocol, secrets, 100);
  return new ResponseError(
    `${describeRequest(request)}: the API answered ${response.status}, a redirect to ${host}, which is not followed`,
    {
      code: 'redirect_refused',
      hint: `No redirect is followed, because it would hand the API key on. If the API has moved, set source.baseUrl to its new address, with a stateDir and a destination of its own: a state belongs to one address, so everything is read again. ${NO_TABLE_CHANGED}`,
      context,
    },
  );
}
