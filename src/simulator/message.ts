/** Header values by lower-case name; several of one name are an array. */
export type HeaderMap = Readonly<Record<string, string | readonly string[]>>;

/** A request as the simulator reads it; `path` holds the query. */
export interface SimulatorRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What becomes of the connection: nothing sent, nothing ever sent, or cut in the middle of the body. */
export type ConnectionFault = 'drop' | 'hang' | 'cut';

/** An answer; its carrier performs `connection` and `delayMs`. */
export interface SimulatorResponse {
  readonly status: number;
  readonly headers: HeaderMap;
  readonly body: string | Buffer;
  readonly connection?: ConnectionFault;
  readonly delayMs?: number;
}

/** A header's value, its name in any case; the first one of several. */
export function readHeader(headers: SimulatorRequest['headers'], name: string): string | undefined {
  const value = headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : value?.[0];
}
