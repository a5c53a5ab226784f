// npm run test:deploy [manifests|chart|monitoring|package|image]: the manifests against their schemas, the chart with
// Helm, alerts and dashboard with Prometheus, the package in an empty folder, and the image's steps in a bare root.
// Slow, and it needs a registry. What a machine lacks the means for is left out and said; in the full proof it fails.
import { checkChart } from './check-chart.ts';
import { checkManifests } from './check-manifests.ts';
import { checkMonitoring } from './check-monitoring.ts';
import { installPackage } from './install-package.ts';
import { replayImage } from './replay-image.ts';

const parts = {
  manifests: checkManifests,
  chart: checkChart,
  monitoring: checkMonitoring,
  package: installPackage,
  image: replayImage,
};
const say = (text: string) => void process.stdout.write(`${text}\n`);

const only = process.argv[2];
if (only !== undefined && !Object.hasOwn(parts, only)) {
  say(`there is no part "${only}"; the parts are ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}
for (const [name, check] of Object.entries(parts)) {
  if (only !== undefined && only !== name) continue;
  const outcome = await check((text) => say(`  ${text}`));
  say(`${name}: ${outcome}`);
  if (!outcome.startsWith('fine') && process.env['SLUICE_PROOF'] === 'full') process.exitCode = 1;
}
