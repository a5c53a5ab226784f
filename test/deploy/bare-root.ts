import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What is mounted where, and who the process is. */
export interface Entry {
  readonly env: Readonly<Record<string, string>>;
  readonly workDir: string;
  /** Numeric user; root where it is left out, as in a build. */
  readonly uid?: number;
  /** The root file system may not be written, and /tmp holds no programs. */
  readonly isReadOnly?: boolean;
  /** Folders of this machine by where they are mounted. */
  readonly volumes?: Readonly<Record<string, string>>;
  /** Cuts the process off from every network but its own loopback. */
  readonly isOffline?: boolean;
}

// Mounts live in the namespace of the process that makes them and go with it. Every step is an exec, so that
// the command is process 1.
const ENTER = `set -eu
root=$1; read_only=$2; offline=$3; volumes=$4; shift 4
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind /usr "$root/usr"
mount -o remount,bind,ro "$root/usr"
mount --bind "$root/.local" "$root/usr/local"
mount --bind /etc/ssl "$root/etc/ssl"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=64m,mode=1777,nosuid,nodev$([ "$read_only" = yes ] && echo ,noexec) tmpfs "$root/tmp"
for pair in $volumes; do
  mkdir -p "$root/\${pair#*=}"
  mount --bind "\${pair%%=*}" "$root/\${pair#*=}"
done
if [ "$read_only" = yes ]; then
  mount -o remount,bind,ro "$root/usr/local"
  mount -o remount,bind,ro "$root"
fi
if [ "$offline" = yes ]; then ip link set lo up; fi
exec chroot "$root" /usr/bin/env -i "$@"`;

/** Why a bare root cannot be made on this machine; undefined where it can. */
export function findObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root, for namespaces and chroot';
  if (spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status !== 0)
    return 'this machine allows no namespaces';
  const missing = ['chroot', 'setpriv', 'ip'].filter((name) => spawnSync(name, ['--version']).error);
  return missing.length === 0 ? undefined : `needs ${missing.join(', ')}`;
}

/**
 * A folder that stands for the base image: this machine's libraries, the Node that runs this and its npm in
 * /usr/local, and nothing else.
 */
export function makeBareRoot(folder: string): void {
  for (const name of [
    'usr',
    'etc/ssl',
    'dev',
    'proc',
    'tmp',
    'root',
    'run',
    '.local/bin',
    '.local/lib/node_modules',
  ])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(folder, name));
  copyFileSync('/etc/resolv.conf', join(folder, 'etc/resolv.conf'));
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost\n');
  copyFileSync(process.execPath, join(folder, '.local/bin/node'));
  const npm = realpathSync(
    spawnSync('which', ['-a', 'npm'], { encoding: 'utf8' }).stdout.split('\n')[0] ?? '',
  );
  cpSync(dirname(dirname(npm)), join(folder, '.local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(folder, '.local/bin/npm'));
}

/** Starts a command in the root as process 1 of its own namespace. */
export function startInRoot(folder: string, words: readonly string[], entry: Entry): ChildProcess {
  const { env, workDir, uid, isReadOnly = false, volumes = {}, isOffline = false } = entry;
  const mounts = Object.entries(volumes).map(([place, source]) => `${source}=${place}`);
  const identity =
    uid === undefined
      ? []
      : [
          'setpriv',
          `--reuid=${uid}`,
          `--regid=${uid}`,
          '--clear-groups',
          '--no-new-privs',
          '--bounding-set=-all',
        ];
  const variables = Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...env });
  const args = [
    ...['--mount', '--pid', '--fork', '--kill-child', ...(isOffline ? ['--net'] : [])],
    ...['sh', '-c', ENTER, 'enter', folder],
    ...[isReadOnly ? 'yes' : 'no', isOffline ? 'yes' : 'no', mounts.join(' ')],
    ...variables.map(([name, value]) => `${name}=${value}`),
    ...[...identity, 'sh', '-c', 'cd "$0" && exec "$@"', workDir],
    ...words,
  ];
  return spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] });
}
