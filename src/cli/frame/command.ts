import type { ExitCode } from '../../model/errors.ts';
import type { PlannedQuota } from '../../model/plan-report.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { CliContext, GlobalValues } from './context.ts';
import { globalOptions } from '../options/global-options.ts';
import type { Option } from '../options/option.ts';
import type { Options, OptionValues, RawFlags } from '../options/resolve-values.ts';
import { resolveValues } from '../options/resolve-values.ts';

/** The outcome of a command, for people and for `--json`. */
export interface CommandOutcome {
  readonly exitCode: ExitCode;
  /** One sentence. */
  readonly summary: string;
  /** The value under `result` of `--json`. */
  readonly result: unknown;
  /** What stdout shows without `--json`. */
  readonly text: string;
  readonly error?: ReportedError | undefined;
  /** For a total over several accounts. */
  readonly requests?: RequestCounts | undefined;
}

/** Requests of a command that looks at an account. */
export interface RequestCounts {
  readonly used: number;
  /** What the next sync takes, for a plan; undefined if it is not known. */
  readonly planned?: number | undefined;
  /** The quota that a plan is about. */
  readonly from?: PlannedQuota | undefined;
}

/** What a command receives. */
export interface CommandInput<O extends Options> {
  readonly values: OptionValues<O>;
  readonly globals: GlobalValues;
  /** The word after the command's name, for commands that take one. */
  readonly argument: string | undefined;
  /** Prints the outcome now instead of at the end, for a command that then keeps serving. */
  readonly announce: (outcome: CommandOutcome) => void;
}

/** A command as its file describes it. */
export interface CommandDefinition<O extends Options> {
  /** A few sentences above the options of `--help`. */
  readonly description: string;
  readonly argument?: CommandArgument;
  readonly options: O;
  /** Examples at the end of `--help`: command lines, each with what it does. */
  readonly examples: readonly (readonly [commandLine: string, does: string])[];
  run(context: CliContext, input: CommandInput<O>): Promise<CommandOutcome>;
}

/** The word a command takes after its name. */
export interface CommandArgument {
  readonly name: string;
  readonly summary: string;
  readonly required: boolean;
  /** One word may name several, separated by commas. */
  readonly isList?: boolean;
}

/** A command as the command line sees it, with its option types erased. */
export interface Command extends Omit<CommandDefinition<Options>, 'options' | 'run'> {
  readonly options: readonly Option<unknown>[];
  run(context: CliContext, given: GivenArguments): Promise<CommandOutcome>;
}

/** What the command line gave a command, unchecked. */
export interface GivenArguments {
  readonly flags: RawFlags;
  readonly argument: string | undefined;
  readonly announce: (outcome: CommandOutcome) => void;
}

/** Erases a definition's option types, so that all commands fit in one list. */
export function defineCommand<const O extends Options>(definition: CommandDefinition<O>): Command {
  return {
    ...definition,
    options: Object.values(definition.options),
    // Checks happen before the first side effect of any command.
    async run(context, { flags, argument, announce }) {
      const sources = { flags, env: context.env, nowMs: context.clock.now() };
      const globals = resolveValues(globalOptions, sources);
      const values = resolveValues(definition.options, sources);
      return definition.run(context, { values, globals, argument, announce });
    },
  };
}
