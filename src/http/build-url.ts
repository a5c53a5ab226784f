import type { Settings } from '../model/settings.ts';
import type { ParamValue, Stream } from '../model/stream.ts';

/** The page of a scan a URL asks for; undefined for an unpaginated endpoint. */
export interface PageAsked {
  readonly limit: number;
  readonly offset: number;
  /** Cursor from the previous page, if the API pages by cursor; undefined for the first. */
  readonly cursor?: string | undefined;
}

/** The URL of one request: the stream's path below the base URL, its parameters, the start date, the page. */
export function buildUrl(
  settings: Pick<Settings, 'baseUrl' | 'arrayParams' | 'connector'>,
  stream: Stream,
  from: string | undefined,
  page: PageAsked | undefined,
): URL {
  const url = new URL(`${settings.baseUrl.href.replace(/\/$/, '')}/${stream.path}`);
  for (const [name, value] of Object.entries(stream.params)) {
    for (const text of paramTexts(value, settings.arrayParams)) url.searchParams.append(name, text);
  }
  if (from !== undefined && stream.cursor.kind !== 'off') url.searchParams.set(stream.cursor.param, from);
  if (page !== undefined) {
    const { paging } = settings.connector;
    url.searchParams.set(paging.limitParam, String(page.limit));
    if (paging.kind === 'offset') url.searchParams.set(paging.offsetParam, String(page.offset));
    else if (page.cursor !== undefined) url.searchParams.set(paging.cursorParam, page.cursor);
  }
  return url;
}

function paramTexts(
  value: ParamValue | readonly ParamValue[],
  arrayParams: Settings['arrayParams'],
): readonly string[] {
  if (!Array.isArray(value)) return [String(value)];
  const texts = value.map(String);
  return arrayParams === 'comma' ? [texts.join(',')] : texts;
}
