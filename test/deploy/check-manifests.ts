import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './dockerfile.ts';
import { readFile } from './manifests.ts';
import { schemaCheckers } from './platform-tools.ts';
import { runProgram } from './run-program.ts';
import { makePythonEnvironment } from '../interop/python-environment.ts';

/** Compose file, workflows and manifests against their schemas, the Dockerfile and the unit with their linters. */
export function checkManifests(say: (text: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-manifests-'));
  try {
    let leftOut = 0;
    for (const check of [checkUnits, checkWithPython]) {
      const obstacle = check(folder, say);
      if (obstacle !== undefined) say(`left out: ${obstacle}`);
      leftOut += obstacle === undefined ? 0 : 1;
    }
    return Promise.resolve(leftOut === 0 ? 'fine' : 'checked in part, or not at all');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkWithPython(folder: string, say: (text: string) => void): string | undefined {
  const python = makePythonEnvironment(schemaCheckers);
  if ('problem' in python) return `schemas and hadolint (${python.problem})`;
  const { bin } = python;
  runProgram(join(bin, 'hadolint'), ['docker/Dockerfile']);
  say('hadolint has nothing to say');
  const schema = (name: string) => ['--builtin-schema', `vendor.${name}`];
  const composeFiles = ['', '.accounts', '.fleet'].map((kind) => `docker/compose${kind}.yaml`);
  runProgram(join(bin, 'check-jsonschema'), [...schema('compose-spec'), ...composeFiles]);
  runProgram(join(bin, 'check-jsonschema'), [...schema('github-workflows'), '.github/workflows/ci.yml']);
  runProgram(join(bin, 'check-jsonschema'), [...schema('github-workflows'), '.github/workflows/soak.yml']);
  say('the compose files and the workflows follow their schemas');
  const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
  const wholeFiles = {
    cronjob: ['docker/kubernetes/cronjob/cronjob.yaml'],
    schedule: ['docker/kubernetes/schedule/deployment.yaml'],
    fleet: ['docker/kubernetes/fleet/job.yaml', 'docker/kubernetes/fleet/deployment.yaml'],
    // Its file is a patch, which follows no schema by itself.
    accounts: [],
  };
  for (const [name, whole] of Object.entries(wholeFiles)) {
    const built = join(folder, `${name}.yaml`);
    const files: string[] = [...whole];
    if (hasKubectl) {
      writeFileSync(
        built,
        execFileSync('kubectl', ['kustomize', `docker/kubernetes/${name}`], { cwd: root }),
      );
      files.push(built);
    }
    runProgram(join(bin, 'kubernetes-validate'), [...files, 'docker/kubernetes/common/volume.yaml']);
  }
  say(`the manifests follow the schemas of Kubernetes${hasKubectl ? ', built with kustomize too' : ''}`);
  return undefined;
}

function checkUnits(folder: string, say: (text: string) => void): string | undefined {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0)
    return 'the systemd unit (there is no systemd-analyze)';
  for (const name of ['sluice.service', 'sluice.timer'])
    // Whether that program is installed says nothing about the unit.
    writeFileSync(
      join(folder, name),
      readFile(`docker/systemd/${name}`).replace('/usr/bin/node', '/bin/true'),
    );
  runProgram('systemd-analyze', ['verify', join(folder, 'sluice.service'), join(folder, 'sluice.timer')]);
  const tens = 20;
  runProgram('systemd-analyze', [
    'security',
    '--offline=yes',
    `--threshold=${tens}`,
    join(folder, 'sluice.service'),
  ]);
  say('systemd reads the unit and the timer, and rates the unit below 2.0');
  return undefined;
}
