import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

/** What a room may import: other rooms, and packages. Types count as much as values. */
interface Rule {
  readonly rooms: readonly string[];
  readonly packages: readonly string[];
}

// With packages that are not installed everywhere.
const OPTIONAL_ROOMS: readonly string[] = ['fleet', 'mcp', 'telemetry'];

// The rooms of docs/architecture.md, from the bottom up: a room imports only rooms that come before it. A room that is
// not here, or an import that is not here, fails the test.
const rules: Readonly<Record<string, Rule>> = {
  text: { rooms: [], packages: ['didyoumean2'] },
  model: { rooms: ['text'], packages: ['zod'] },
  files: { rooms: [], packages: [] },
  json: { rooms: ['model'], packages: [] },
  schema: { rooms: ['model', 'json'], packages: [] },
  contract: { rooms: ['text', 'model', 'json', 'schema'], packages: ['zod'] },
  dictionary: { rooms: ['model', 'schema', 'contract'], packages: [] },
  discover: { rooms: ['text', 'model', 'json', 'schema'], packages: [] },
  orders: { rooms: ['text', 'model', 'json'], packages: [] },
  connectors: { rooms: ['model'], packages: [] },
  // What a path of a learned column means.
  state: { rooms: ['model', 'files', 'schema'], packages: ['zod'] },
  config: { rooms: ['text', 'model', 'files', 'contract', 'orders'], packages: ['yaml', 'zod'] },
  clients: { rooms: ['text', 'model'], packages: ['zod'] },
  archive: { rooms: ['model', 'files'], packages: ['zod'] },
  http: { rooms: ['text', 'model', 'orders'], packages: ['p-queue', 'undici'] },
  stage: { rooms: ['model', 'files', 'json', 'schema'], packages: ['zod'] },
  warehouse: {
    rooms: ['text', 'model', 'files', 'json', 'schema', 'dictionary', 'stage'],
    packages: ['@duckdb/node-api', 'zod'],
  },
  views: { rooms: ['model', 'schema', 'dictionary', 'warehouse'], packages: ['zod'] },
  publish: { rooms: ['text', 'model', 'files', 'state', 'warehouse', 'views'], packages: ['zod'] },
  report: { rooms: ['text', 'model'], packages: ['d3-array', 'd3-scale', 'd3-shape'] },
  plan: { rooms: ['text', 'model', 'state'], packages: [] },
  storage: {
    rooms: [
      'text',
      'model',
      'files',
      'json',
      'schema',
      'state',
      'http',
      'stage',
      'warehouse',
      'publish',
      'plan',
    ],
    packages: [],
  },
  run: {
    rooms: ['text', 'model', 'schema', 'state', 'http', 'stage', 'warehouse', 'plan', 'storage'],
    packages: [],
  },
  read: {
    rooms: [
      'text',
      'model',
      'json',
      'schema',
      'discover',
      'orders',
      'http',
      'stage',
      'warehouse',
      'plan',
      'storage',
      'run',
    ],
    packages: [],
  },
  load: {
    rooms: [
      'text',
      'model',
      'json',
      'schema',
      'contract',
      'dictionary',
      'state',
      'archive',
      'stage',
      'warehouse',
      'plan',
      'storage',
      'run',
      'read',
    ],
    packages: [],
  },
  sync: {
    rooms: [
      'text',
      'model',
      'schema',
      'orders',
      'state',
      'config',
      'archive',
      'stage',
      'warehouse',
      'publish',
      'plan',
      'storage',
      'run',
      'read',
      'load',
    ],
    packages: [],
  },
  commands: {
    rooms: [
      'text',
      'model',
      'files',
      'json',
      'schema',
      'contract',
      'dictionary',
      'discover',
      'orders',
      'state',
      'config',
      'archive',
      'http',
      'stage',
      'warehouse',
      'publish',
      'plan',
      'storage',
      'run',
      'read',
      'load',
      'sync',
    ],
    packages: [],
  },
  accounts: {
    rooms: ['text', 'model', 'files', 'dictionary', 'state', 'warehouse', 'views', 'publish', 'storage'],
    packages: ['zod'],
  },
  telemetry: {
    rooms: ['text', 'model'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-metrics-otlp-proto',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
    ],
  },
  library: {
    rooms: ['model', 'connectors', 'config', 'sync', 'commands', 'accounts', 'telemetry'],
    packages: [],
  },
  index: { rooms: ['model', 'config', 'library'], packages: [] },
  schedule: { rooms: ['model', 'state'], packages: ['croner'] },
  fleet: {
    rooms: ['text', 'model', 'files', 'state', 'http', 'storage', 'schedule'],
    packages: ['@aws-sdk/client-s3', 'pg', 'pg-boss', 'tar'],
  },
  metrics: { rooms: ['text', 'model', 'files', 'state', 'commands'], packages: ['prom-client'] },
  notify: { rooms: ['text', 'model', 'state'], packages: ['undici'] },
  dagster: { rooms: ['model'], packages: ['zod'] },
  simulator: { rooms: ['model'], packages: [] },
  render: { rooms: ['text', 'model', 'report', 'accounts', 'simulator'], packages: ['cli-table3'] },
  mcp: {
    rooms: ['text', 'model', 'warehouse', 'render'],
    packages: ['@modelcontextprotocol/server', 'zod'],
  },
  cli: {
    rooms: [
      'text',
      'model',
      'files',
      'connectors',
      'config',
      'clients',
      'warehouse',
      'report',
      'sync',
      'commands',
      'accounts',
      'schedule',
      'fleet',
      'metrics',
      'notify',
      'telemetry',
      'dagster',
      'simulator',
      'render',
      'mcp',
    ],
    packages: ['log-update', 'pino', 'pino-pretty', 'yargs'],
  },
};

/**
 * Folders inside a room, from the bottom up; `.` is the room's own files, but for those that are named. A folder imports
 * only those before it.
 */
const floors: Readonly<Record<string, readonly string[]>> = {
  cli: [
    'terminal',
    'options',
    'frame',
    'progress',
    'steps',
    'demo',
    'schedule',
    'fleet',
    'clients',
    'commands',
    '.',
  ],
  fleet: ['store', 'parcel', 'quota', 'database', 'run', 'worker', '.'],
  commands: ['plan', '.', 'clients', 'contracts', 'discover', 'rebuild', 'report', 'docs', 'verify', 'state'],
  publish: [
    'publisher.ts',
    'exporter.ts',
    'lineage.ts',
    'published-file.ts',
    'holder-mark.ts',
    'put-in-place.ts',
    'stored-values.ts',
    'assert-writable.ts',
    'duckdb-file',
    'lake',
    'lakehouse',
    'lakehouse/ducklake',
    'lakehouse/iceberg',
    'lakehouse/motherduck',
    'lakehouse/postgres',
    '.',
  ],
};

/** Rooms and modules that may use a builtin which reaches out of the process; everybody may use the others. */
const builtinUsers: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['fleet', 'mcp', 'notify'],
  'node:cluster': [],
  'node:dns': [],
  'node:http': ['metrics', 'simulator'],
  'node:http2': [],
  'node:https': [],
  'node:net': ['fleet', 'metrics', 'simulator'],
  'node:sqlite': ['state'],
  'node:tls': [],
  'node:vm': [],
  'node:worker_threads': ['mcp'],
};

/** Rooms of plain values and pure functions: no disk, no network, no clock. */
const pureRooms: Readonly<Record<string, readonly string[]>> = {
  clients: [],
  connectors: [],
  contract: [],
  dictionary: [],
  discover: [],
  json: ['node:buffer', 'node:crypto'],
  orders: [],
  report: [],
  schema: ['node:crypto'],
  text: [],
};

// From the top down: each part of the spine knows the next one and nothing of the one above.
const spine: Readonly<Record<string, readonly string[]>> = {
  // The report begins with what `status` tells.
  'src/commands/status.ts': ['src/commands/report/gather-report.ts'],
  'src/sync/run.ts': [],
  'src/sync/sync-if-due.ts': ['src/sync/run.ts'],
  'src/sync/sync-stream.ts': ['src/sync/sync-if-due.ts'],
  'src/sync/attempt-scan.ts': ['src/sync/sync-stream.ts'],
  // A comparison with the API reads scans as a sync does, and writes none of them.
  'src/read/fetch-scan.ts': ['src/sync/attempt-scan.ts', 'src/commands/verify/compare-stream.ts'],
};

/** Rooms whose steps make up a run. */
const stepRooms = ['read', 'load', 'sync', 'commands'];

type ImportKind = 'static' | 'dynamic' | 'type';

interface Import {
  readonly from: string;
  readonly to: string;
  readonly kind: ImportKind;
}

const files = ['src', 'connectors', 'state'].flatMap((folder) => listFiles(folder)).filter(isSource);
const sources = new Map(files.map((file) => [file, parse(file)]));
const imports = files.flatMap((file) => listImports(file));
const inner = imports.filter(({ to }) => !isPackage(to));
const outer = imports.filter(({ to }) => isPackage(to));

describe('rooms', () => {
  it('has a rule for every room', () => {
    expect([...new Set(files.map(roomOf))].toSorted()).toEqual(Object.keys(rules).toSorted());
  });

  it('finds a file behind every import', () => {
    expect(inner.filter(({ to }) => !sources.has(to)).map(formatImport)).toEqual([]);
  });

  it.each(Object.entries(rules))('%s imports the rooms it may', (room, { rooms }) => {
    const foreign = inner.filter(({ from, to }) => roomOf(from) === room && roomOf(to) !== room);
    expect(foreign.filter(({ to }) => !rooms.includes(roomOf(to))).map(formatImport)).toEqual([]);
    // A permission nobody uses is a door left open.
    expect(rooms.filter((name) => !foreign.some(({ to }) => roomOf(to) === name))).toEqual([]);
  });

  it.each(Object.entries(rules))('%s imports only rooms below it', (room, { rooms }) => {
    const order = Object.keys(rules);
    expect(rooms.filter((name) => order.indexOf(name) >= order.indexOf(room))).toEqual([]);
  });

  it('names the kind of an order of pages in its registry alone: the others ask the order', () => {
    const naming = /\bpaging\.kind\b|kind === '(?:offset|cursor|page-number|link)'/;
    const found = files.filter((file) => naming.test(readFileSync(path.join(root, file), 'utf8')));
    expect(found).toEqual(['src/orders/orders.ts']);
  });

  it('has a floor for every folder inside a room', () => {
    const folders = Map.groupBy(files.filter(isInRoom), roomOf);
    const found = [...folders].flatMap(([room, own]) => {
      const names = new Set(own.map(floorOf));
      return names.size > 1 ? [[room, [...names].toSorted()]] : [];
    });
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(floors).map(([room, names]) => [room, names.toSorted()])),
    );
  });

  it.each(Object.entries(floors))('%s imports only downwards inside', (room, order) => {
    const upward = inner.filter(
      ({ from, to }) =>
        isInRoom(from) &&
        roomOf(from) === room &&
        roomOf(to) === room &&
        order.indexOf(floorOf(to)) > order.indexOf(floorOf(from)),
    );
    expect(upward.map(formatImport)).toEqual([]);
  });

  it.each(Object.entries(rules))('%s imports the packages it may', (room, { packages }) => {
    const used = outer.filter(({ from, to }) => roomOf(from) === room && !isBuiltin(to));
    expect(used.filter(({ to }) => !packages.includes(packageOf(to))).map(formatImport)).toEqual([]);
    expect(packages.filter((name) => !used.some(({ to }) => packageOf(to) === name))).toEqual([]);
  });

  it('reaches out of the process only where it may', () => {
    const strays = outer.filter(({ from, to }) => {
      const pure = pureRooms[roomOf(from)];
      if (pure !== undefined && isBuiltin(to) && !pure.includes(to)) return true;
      return builtinUsers[to]?.includes(roomOf(from)) === false;
    });
    expect(strays.map(formatImport)).toEqual([]);
    expect(findCalls((call) => call.expression.getText() === 'fetch')).toEqual([]);
  });

  it('names builtins with node:', () => {
    const bare = outer.filter(({ to }) => isBuiltin(to) && !to.startsWith('node:'));
    expect(bare.map(formatImport)).toEqual([]);
  });

  it('lets nothing import the command line', () => {
    const outside = inner.filter(({ from, to }) => roomOf(from) !== 'cli' && roomOf(to) === 'cli');
    expect(outside.map(formatImport)).toEqual([]);
  });

  it('knows publishers by their interface', () => {
    const publishers = /^src\/publish\/([a-z0-9-]+)\//;
    const strays = inner.filter(({ from, to }) => {
      const folder = publishers.exec(to)?.[1];
      return (
        folder !== undefined && from !== 'src/publish/registry.ts' && publishers.exec(from)?.[1] !== folder
      );
    });
    expect(strays.map(formatImport)).toEqual([]);
  });

  it('keeps the order of the spine', () => {
    const upward = inner
      .filter(({ from, to }) => stepRooms.includes(roomOf(from)) && spine[to]?.includes(from) === false)
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(upward).toEqual([]);
  });

  it('has no import loop, types included', () => {
    expect(findLoops()).toEqual([]);
  });
});

describe('the command line', () => {
  it('loads other rooms only when a command asks for them', () => {
    const loaded = followStatic('src/cli/main.ts');
    const rooms = new Set([...loaded].map(roomOf));
    expect([...rooms].toSorted()).toEqual(['cli', 'model', 'render', 'text']);
    const packages = outer
      .filter(({ from, to, kind }) => kind === 'static' && loaded.has(from) && !isBuiltin(to))
      .map(({ to }) => packageOf(to));
    expect([...new Set(packages)]).toEqual(['yargs']);
  });

  it('starts on an old Node without reading anything else', () => {
    expect(imports.filter(({ from }) => from === 'src/cli/bin.ts')).toEqual([
      { from: 'src/cli/bin.ts', to: 'src/cli/compile-cache.ts', kind: 'dynamic' },
      { from: 'src/cli/bin.ts', to: 'src/cli/main.ts', kind: 'dynamic' },
    ]);
  });

  it('ends the process in one place', () => {
    const exits = findCalls((call) => call.expression.getText() === 'process.exit');
    expect([...new Set(exits)]).toEqual(['src/cli/main.ts']);
  });
});

/** The engine's binary. No source imports it: the bundled copy of the engine's package does. */
const NATIVE = '@duckdb/node-bindings';

describe('packages', () => {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
    readonly peerDependencies: Readonly<Record<string, string>>;
    readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  };
  const used = new Set(outer.filter(({ to }) => !isBuiltin(to)).map(({ to }) => packageOf(to)));
  const peers = Object.keys(manifest.peerDependencies);

  it('are dependencies when the sources import them, and imported when they are dependencies', () => {
    const own = [...used, NATIVE].filter((name) => !peers.includes(name));
    expect(own.toSorted()).toEqual(Object.keys(manifest.dependencies).toSorted());
  });

  it('have the binary that the bundled package of the engine was made for', () => {
    const engine = readFileSync(path.join(root, 'node_modules/@duckdb/node-api/package.json'), 'utf8');
    const { version, dependencies } = JSON.parse(engine) as typeof manifest & { readonly version: string };
    expect(manifest.dependencies['@duckdb/node-api']).toBe(version);
    expect(manifest.dependencies[NATIVE]).toBe(dependencies[NATIVE]);
  });

  it('are optional where only some need them, and tried in the version that is asked for', () => {
    expect(peers.filter((name) => manifest.peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
    const tried = Object.fromEntries(peers.map((name) => [name, manifest.devDependencies[name]]));
    expect(tried).toEqual(manifest.peerDependencies);
  });

  it('that are optional have users', () => {
    expect(peers.filter((name) => !used.has(name))).toEqual([]);
  });

  it('that are optional are loaded by the rooms that need them alone, and when they do', () => {
    const eager = outer.filter(
      ({ from, to, kind }) =>
        peers.includes(packageOf(to)) && (!OPTIONAL_ROOMS.includes(roomOf(from)) || kind === 'static'),
    );
    expect(eager.map(formatImport)).toEqual([]);
  });

  it.each(['src/cli/main.ts', 'src/index.ts', 'src/library.ts'])(
    'that are optional do not load with %s',
    (start) => {
      const loaded = followStatic(start);
      expect([...loaded].filter((file) => OPTIONAL_ROOMS.includes(roomOf(file)))).toEqual([]);
      const reached = outer.filter(
        ({ from, to, kind }) => kind === 'static' && loaded.has(from) && peers.includes(packageOf(to)),
      );
      expect(reached.map(formatImport)).toEqual([]);
    },
  );
});

describe('files', () => {
  it('export by name, one by one', () => {
    const broken = files.filter((file) =>
      sources.get(file)?.statements.some((statement) => {
        if (ts.isExportAssignment(statement)) return true;
        if (ts.isExportDeclaration(statement)) {
          const { exportClause } = statement;
          return exportClause === undefined || ts.isNamespaceExport(exportClause);
        }
        return (
          ts.canHaveModifiers(statement) &&
          ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) === true
        );
      }),
    );
    expect(broken).toEqual([]);
  });

  it('have one index, the library', () => {
    expect(files.filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual(['src/index.ts']);
  });

  it('import with the extension of the source', () => {
    const broken = files
      .flatMap((file) => listSpecifiers(file))
      .filter(({ text }) => text.startsWith('.') && !text.endsWith('.ts'))
      .map(({ text }) => text);
    expect(broken).toEqual([]);
  });

  it('have kebab-case names and fewer than 300 lines', () => {
    expect(files.filter((file) => !/^[a-z0-9-]+\.ts$/.test(path.basename(file)))).toEqual([]);
    const long = files
      .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines >= 300);
    expect(long).toEqual([]);
  });

  it('make folders by makeFolders: a recursive mkdir never ends below /proc', () => {
    const found = files.filter((file) => /mkdir(Sync)?\([^;]*recursive: true/.test(read(file)));
    expect(found).toEqual([]);
  });

  it('tell the time by a Clock', () => {
    const callers = findCalls((call) => call.expression.getText() === 'Date.now');
    // `readStatus` has it as a default: its callers may pass their own.
    expect([...new Set(callers)]).toEqual(['src/commands/status.ts', 'src/model/clock.ts']);
  });

  it('are finished: no marks of work to do, no test left out', () => {
    // Spelt in parts, or this file would find itself.
    const marks = new RegExp(
      [`\\bTO${'DO'}\\b`, `\\bFIX${'ME'}\\b`, `\\.${'only'}\\(`, `\\.${'skip'}\\(`].join('|'),
    );
    const marked = listFiles('.').filter((file) => isText(file) && marks.test(read(file)));
    expect(marked).toEqual([]);
  });
});

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
}

/** Files below a folder, as paths from the root; without what git ignores. */
function listFiles(folder: string): readonly string[] {
  const ignored = ['.git', '.sluice', 'coverage', 'dist', 'node_modules', 'sluice-demo'];
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (ignored.includes(entry.name)) return [];
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return listFiles(file);
    return entry.isFile() ? [file] : [];
  });
}

function isSource(file: string): boolean {
  return file.endsWith('.ts');
}

function isText(file: string): boolean {
  return /\.(ts|js|json|md|ya?ml|txt|sql|py|ipynb|sh)$|(^|\/)(Dockerfile|LICENSE|run)$/.test(file);
}

function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  if (top !== 'src') return top;
  return second.replace(/\.ts$/, '');
}

function isInRoom(file: string): boolean {
  return file.split('/').length > 2 && file.startsWith('src/');
}

function floorOf(file: string): string {
  const inside = file.split('/').slice(2);
  const own = floors[roomOf(file)]?.includes(inside.join('/')) === true;
  return own ? inside.join('/') : inside.slice(0, -1).join('/') || '.';
}

function listImports(file: string): readonly Import[] {
  return listSpecifiers(file).map(({ text, kind }) => ({
    from: file,
    to: text.startsWith('.') ? path.posix.join(path.posix.dirname(file), text) : text,
    kind,
  }));
}

/** Every `import`, `export … from`, `import()` and `import('…')` type of a file. */
function listSpecifiers(file: string): readonly { readonly text: string; readonly kind: ImportKind }[] {
  const found: { readonly text: string; readonly kind: ImportKind }[] = [];
  const add = (node: ts.Node | undefined, kind: ImportKind) => {
    if (node !== undefined && ts.isStringLiteralLike(node)) found.push({ text: node.text, kind });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node))
      add(node.moduleSpecifier, isTypeOnly(node.importClause) ? 'type' : 'static');
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly ? 'type' : 'static');
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, 'type');
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], 'dynamic');
    ts.forEachChild(node, visit);
  };
  const source = sources.get(file);
  if (source !== undefined) visit(source);
  return found;
}

// With `verbatimModuleSyntax`, only `import type` leaves nothing behind.
function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

function isPackage(to: string): boolean {
  return !to.includes('/') || !/^(src|connectors|state|test)\//.test(to);
}

function isBuiltin(to: string): boolean {
  return to.startsWith('node:') || builtinModules.includes(to);
}

function packageOf(to: string): string {
  return to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/');
}

function formatImport({ from, to, kind }: Import): string {
  return `${from} -> ${to} (${kind})`;
}

/** Files that hold a call the test is looking for. */
function findCalls(matches: (call: ts.CallExpression) => boolean): readonly string[] {
  return files.filter((file) => {
    const visit = (node: ts.Node): boolean =>
      (ts.isCallExpression(node) && matches(node)) || (ts.forEachChild(node, visit) ?? false);
    const source = sources.get(file);
    return source !== undefined && visit(source);
  });
}

/** The files that loading one loads with it. */
function followStatic(start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const file of reached) {
    for (const { from, to, kind } of inner) if (from === file && kind === 'static') reached.add(to);
  }
  return reached;
}

function findLoops(): readonly string[] {
  const done = new Set<string>();
  const loops: string[] = [];
  const visit = (file: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(file);
    if (seenAt !== -1) loops.push([...trail.slice(seenAt), file].join(' -> '));
    if (seenAt !== -1 || done.has(file)) return;
    // A dynamic import runs when its function is called, long after both files are loaded; it still is a loop.
    for (const { from, to } of inner) if (from === file) visit(to, [...trail, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return loops;
}
