import type { Readable, Writable } from 'node:stream';
import type { AccountOfConfig } from '../../model/account.ts';
import type { ConfigAccount } from '../../config/accounts.ts';
import type { Clock } from '../../model/clock.ts';
import type { Telemetry } from '../../model/telemetry.ts';
import type { Engine } from './engine.ts';
import type { globalOptions } from '../options/global-options.ts';
import type { OptionValues } from '../options/resolve-values.ts';
import type { StopBehaviour } from '../terminal/signals.ts';
import type { Output } from '../terminal/output.ts';

/** What a command may use of the outside world; tests replace each member. */
export interface CliContext {
  readonly output: Output;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Returns this many random hexadecimal digits. */
  readonly randomHex: (digits: number) => string;
  /** Folder that relative paths of the command line start from. */
  readonly cwd: string;
  /** Aborts with an AbortedError, which carries the exit code, at the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Sets what that first Ctrl-C or SIGTERM does; by default everything open is closed. */
  readonly chooseStop: (behaviour: StopBehaviour) => void;
  readonly engine: Engine;
  /** The account a command works on; undefined for a config without accounts, or for all of them. */
  readonly account?: ConfigAccount | undefined;
  /** Describes it and the others of its config. */
  readonly ofAccount?: (() => Promise<AccountOfConfig>) | undefined;
  /** Registers a secret to be masked in all output from now on. */
  readonly keepSecret: (secret: string) => void;
  /** The streams of a command that speaks a protocol with another program; undefined for other commands. */
  readonly stdio?: { readonly input: Readable; readonly output: Writable } | undefined;
  /** Where traces and metrics of runs go; undefined if nobody asked for them. */
  readonly telemetry?: Telemetry | undefined;
  /** Asks questions; undefined if nobody is there to answer. */
  readonly prompt: Prompt | undefined;
}

/** Asks one question and returns the answer, or `fallback` for an empty one. */
export type Prompt = (question: string, fallback: string) => Promise<string>;

/** Values of the options every command takes. */
export type GlobalValues = OptionValues<typeof globalOptions>;
