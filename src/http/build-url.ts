import type { Settings } from '../model/settings.ts';
import { orderOf } from '../orders/orders.ts';
import type { PageAsked } from '../orders/page-order.ts';
import type { ParamValue, Stream } from '../model/stream.ts';

/**
 * The URL of one request: the stream's path below the base URL, its parameters, the start date, and the page; undefined
 * for an unpaginated endpoint.
 */
export function buildUrl(
  settings: Pick<Settings, 'baseUrl' | 'arrayParams' | 'connector'>,
  stream: Stream,
  from: string | undefined,
  page: PageAsked | undefined,
): URL {
  const url = new URL(`${settings.baseUrl.href.replace(/\/$/, '')}/${stream.path}`);
  // Apart from the URL, which is written again for each change of its own parameters.
  const query = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries(stream.params)) {
    for (const text of paramTexts(value, settings.arrayParams)) query.append(name, text);
  }
  if (from !== undefined && stream.cursor.kind !== 'off') query.set(stream.cursor.param, from);
  if (page !== undefined) {
    const asked = orderOf(settings.connector.paging).query(page, stream.pageSize);
    for (const [name, value] of Object.entries(asked)) query.set(name, value);
  }
  if (query.size > 0) url.search = query.toString();
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
