import type { GlobalValues } from './context.ts';

/** What the process that answers the calls of an MCP client is told. */
export interface CallArguments {
  readonly globals: GlobalValues;
  /** The only accounts that calls may see; all of them when undefined. */
  readonly accounts?: readonly string[] | undefined;
  readonly mostBytes: number;
}
