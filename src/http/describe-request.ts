import type { ErrorContext } from '../model/errors.ts';
import type { ApiRequest, ResponseHeaders } from '../model/http.ts';
import { quoteServerText } from '../text/redact.ts';

const REQUEST_ID_HEADERS = ['x-request-id', 'request-id', 'x-correlation-id', 'x-amzn-requestid', 'cf-ray'];

/** Where a message says it happened: `prompts_analytics, offset 300`. */
export function describeRequest(request: Pick<ApiRequest, 'stream' | 'offset'>): string {
  return request.offset === undefined ? request.stream : `${request.stream}, offset ${request.offset}`;
}

/** The same for code that reads an error. */
export function buildContext(
  request: ApiRequest,
  answer?: { status: number; requestId?: string | undefined },
): ErrorContext {
  return {
    stream: request.stream,
    ...(request.offset !== undefined && { offset: request.offset }),
    ...(answer !== undefined && { status: answer.status }),
    ...(answer?.requestId !== undefined && { requestId: answer.requestId }),
  };
}

/** The id the server gave a request, made safe to show; undefined when it gave none. */
export function readRequestId(headers: ResponseHeaders, secrets: readonly string[]): string | undefined {
  for (const name of REQUEST_ID_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return quoteServerText(value, secrets, 100);
  }
  return undefined;
}
