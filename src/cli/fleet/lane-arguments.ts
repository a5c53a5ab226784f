/** What the program of a lane is started with, as JSON. */
export interface LaneArguments {
  /** The config, read for each run. */
  readonly config: string;
  /** Absolute path of the lane's own folder. */
  readonly scratch: string;
  /** Absolute path of the folder with the engine's extensions. */
  readonly extensions: string;
  /** The first lane of its worker says what is wrong with all of them. */
  readonly isFirst: boolean;
}
