import { formatCountOf } from '../text/format-count.ts';

/** Spans that did not arrive. */
export interface Losses {
  readonly spans: number;
  /** What the exporter said. */
  readonly because: string | undefined;
}

export const noLosses: Losses = { spans: 0, because: undefined };

const LONGEST_CAUSE = 200;

/** What was lost, in one warning; undefined if nothing was. */
export function describeLosses(
  { spans, because }: Losses,
  { metrics }: { readonly metrics: boolean },
): string | undefined {
  const lost = [...(spans > 0 ? [formatCountOf(spans, 'span')] : []), ...(metrics ? ['the metrics'] : [])];
  if (lost.length === 0) return undefined;
  // It may have words of the server in it.
  const cause = because?.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, LONGEST_CAUSE);
  return `OpenTelemetry: ${lost.join(' and ')} could not be sent${cause === undefined ? '' : ` (${cause})`}; the data is not affected. Check OTEL_EXPORTER_OTLP_ENDPOINT.`;
}
