import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { makeBareRoot, startInRoot } from './bare-root.ts';
import { type Instruction, isInContext, readDockerfile, readPairs, root, type Stage } from './dockerfile.ts';
import { waitForOutcome } from './outcome.ts';

/** What the last stage of the Dockerfile came to. */
export interface Image {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workDir: string;
  readonly uid: number | undefined;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

// What a builder passes on: how to reach a registry, nothing else of this machine.
const PASSED_ON = ['NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'npm_config_registry'];

/** Follows the Dockerfile step by step, each stage in a bare root of its own below `place`. */
export async function buildImage(place: string, say: (text: string) => void): Promise<Image> {
  const { stages } = readDockerfile();
  const images = new Map<string, Image>();
  for (const stage of stages) {
    const folder = join(place, stage.name);
    const base = images.get(stage.base);
    if (base === undefined) {
      mkdirSync(folder);
      makeBareRoot(folder);
    } else run('cp', ['--archive', '--link', base.folder, folder]);
    let image: Image = base === undefined ? startEmpty(folder) : { ...base, folder };
    for (const instruction of stage.instructions) {
      if (['COPY', 'RUN'].includes(instruction.keyword))
        say(`${stage.name}: ${instruction.keyword} ${instruction.text.replaceAll(/\s+/g, ' ')}`);
      image = await follow(instruction, image, images);
    }
    images.set(stage.name, image);
  }
  const last = images.get((stages.at(-1) as Stage).name);
  if (last === undefined) throw new Error('the Dockerfile has no stage');
  return last;
}

function startEmpty(folder: string): Image {
  return { folder, env: {}, workDir: '/', uid: undefined, entrypoint: [], command: [], healthcheck: [] };
}

async function follow(
  instruction: Instruction,
  image: Image,
  images: ReadonlyMap<string, Image>,
): Promise<Image> {
  const { keyword, text, words = [] } = instruction;
  switch (keyword) {
    case 'COPY':
      copy(instruction, image, images);
      return image;
    case 'RUN':
      await runStep(text, image);
      return image;
    case 'ENV':
      return { ...image, env: { ...image.env, ...readPairs(instruction) } };
    case 'WORKDIR':
      mkdirSync(join(image.folder, text), { recursive: true });
      return { ...image, workDir: text };
    case 'USER':
      return { ...image, uid: Number(text.split(':')[0]) };
    case 'ENTRYPOINT':
      return { ...image, entrypoint: words };
    case 'CMD':
      return { ...image, command: words };
    case 'HEALTHCHECK':
      return { ...image, healthcheck: words };
    case 'ARG':
    case 'LABEL':
    case 'STOPSIGNAL':
      return image;
    default:
      throw new Error(`the replay does not know ${keyword}`);
  }
}

function copy({ flags, text }: Instruction, image: Image, images: ReadonlyMap<string, Image>): void {
  const paths = text.split(/\s+/);
  const target = paths.at(-1) ?? '';
  const stage = flags['from'] === undefined ? undefined : images.get(flags['from']);
  const place = join(image.folder, target.startsWith('/') ? target : join(image.workDir, target));
  for (const path of paths.slice(0, -1)) {
    const source = stage === undefined ? join(root, path) : join(stage.folder, path);
    if (!existsSync(source)) throw new Error(`COPY ${path}: there is no such file`);
    const isFolder = statSync(source).isDirectory();
    // A file goes into a folder that ends with a slash; a folder's content takes the target's name.
    const to = !isFolder && target.endsWith('/') ? join(place, basename(path)) : place;
    mkdirSync(dirname(to), { recursive: true });
    if (stage !== undefined) run('cp', ['--archive', '--no-target-directory', source, to]);
    else cpSync(source, to, { recursive: true, filter: (file) => isInContext(relative(root, file)) });
    if (!existsSync(to)) throw new Error(`COPY ${path}: .dockerignore keeps it out`);
  }
}

async function runStep(command: string, image: Image): Promise<void> {
  const passed = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { HOME: '/root', ...(Object.fromEntries(passed) as Record<string, string>), ...image.env };
  const child = startInRoot(image.folder, ['sh', '-c', command], { env, workDir: image.workDir });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  if (exitCode !== 0) throw new Error(`RUN ${command} ended with ${exitCode}\n${stdout}${stderr}`);
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
