import { type ChildProcess, fork } from 'node:child_process';
import type { FromLane, LaneEnd, LaneQuestion, LaneRun, ToLane } from '../run/messages.ts';

/** What a lane needs of its worker while it runs an account. */
export interface LaneHost {
  /** Records what the question says; whether the account is still held. */
  ask(question: LaneQuestion): Promise<boolean>;
}

/** How a lane's process ended while it had a run. */
export interface LaneDeath {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How the process of a lane is started. */
export interface LaneProgram {
  /** Absolute path of the program. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Called with each line that it prints: only defects print. */
  readonly onOutput: (line: string) => void;
}

/**
 * A process that runs accounts, one after the other. A process of its own, because a run whose lease is lost is killed, and
 * what breaks in one must not end the others.
 */
export class Lane {
  readonly #program: LaneProgram;
  #child: ChildProcess | undefined;
  #onMessage: ((message: FromLane) => void) | undefined;
  /** Renewals that its process was told of and did not answer. */
  #unanswered = 0;

  constructor(program: LaneProgram) {
    this.#program = program;
  }

  /** How many renewals its process has not answered: it hangs, or is paused. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /**
   * Runs an account to its end, and commits the end with `settle`. Resolves to how its process died, if it did.
   *
   * @param settle commits the end; false if the lease was lost
   */
  async run(
    run: LaneRun,
    host: LaneHost,
    settle: (end: LaneEnd) => Promise<boolean>,
  ): Promise<LaneDeath | undefined> {
    const child = this.#child ?? this.#start();
    const { promise, resolve } = Promise.withResolvers<LaneDeath | undefined>();
    const onExit = (exitCode: number | null, signal: NodeJS.Signals | null) => {
      resolve({ exitCode, signal });
    };
    child.once('exit', onExit);
    // Only to this process: an answer that comes after its death is none for the run that follows.
    const tell = (message: ToLane) => {
      send(child, message);
    };
    this.#onMessage = (message) => {
      if (message.type === 'ask') {
        const { id, question } = message;
        // Where nobody can say, it counts as lost, and nothing is published.
        void host.ask(question).then(
          (isHeld) => {
            tell({ type: 'answer', id, isHeld });
          },
          () => {
            tell({ type: 'answer', id, isHeld: false });
          },
        );
      } else if (message.type === 'ended')
        void settle(message.end).then(
          (isAccepted) => {
            tell({ type: 'settled', isAccepted });
          },
          () => {
            tell({ type: 'settled', isAccepted: false });
          },
        );
      else if (message.type === 'idle') resolve(undefined);
    };
    tell({ type: 'run', run });
    const death = await promise;
    child.off('exit', onExit);
    this.#onMessage = undefined;
    return death;
  }

  /** Tells the run that its lease was renewed: it ends by itself if it hears of no renewal. */
  tellHeld(): void {
    this.#unanswered += 1;
    this.#send({ type: 'held' });
  }

  /** Asks the run to keep whole pages and end. */
  stop(): void {
    this.#send({ type: 'stop' });
  }

  /** Ends the process at once: its run is lost, which is safe at any moment. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Ends an idle process. */
  close(): void {
    this.#child?.disconnect();
    this.#child = undefined;
  }

  #start(): ChildProcess {
    const { file, args, env, onOutput } = this.#program;
    const child = fork(file, [...args], {
      env,
      execArgv: [...process.execArgv],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Ctrl-C goes to all processes of a terminal: the worker tells its lanes what to do.
      detached: true,
    });
    this.#unanswered = 0;
    child.on('message', (message) => {
      this.#unanswered = 0;
      this.#onMessage?.(message as FromLane);
    });
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    child.on('error', () => undefined);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        for (const line of chunk.toString('utf8').split('\n')) if (line !== '') onOutput(line);
      });
    this.#child = child;
    return child;
  }

  #send(message: ToLane): void {
    if (this.#child !== undefined) send(this.#child, message);
  }
}

/** A process that is gone reports that itself. */
function send(child: ChildProcess, message: ToLane): void {
  if (child.connected) child.send(message, () => undefined);
}
