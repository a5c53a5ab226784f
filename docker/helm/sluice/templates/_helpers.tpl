{{- define "sluice.fullname" -}}
{{- if contains "sluice" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-sluice" (.Release.Name | trunc 33 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sluice.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sluice.hasAccounts" -}}
{{- if or .Values.config.accounts (eq .Values.mode "fleet") -}}yes{{- end -}}
{{- end -}}

{{/* The names of the accounts, for the Secret of each. */}}
{{- define "sluice.accountNames" -}}
{{- if kindIs "map" .Values.config.accounts -}}
{{- keys .Values.config.accounts | sortAlpha | join " " -}}
{{- end -}}
{{- end -}}

{{/* sluice.yaml: what the values say, over what follows from the pod. */}}
{{- define "sluice.config" -}}
{{- $accounts := eq (include "sluice.hasAccounts" .) "yes" -}}
{{- $key := $accounts | ternary "${file:/run/secrets/sluice/${account}}" (printf "${file:/run/secrets/sluice/%s}" .Values.keys.item) -}}
{{- $own := dict "source" dict "stateDir" ($accounts | ternary "/data/state/${account}" "/data/state") -}}
{{- if not .Values.config.source.bearerToken -}}
{{- $_ := set $own.source "apiKey" $key -}}
{{- end -}}
{{- if eq .Values.mode "fleet" -}}
{{- $_ := set $own "fleet" (dict
  "database" "${file:/run/secrets/fleet/database_url}"
  "encryptionKey" "${file:/run/secrets/fleet/encryption_key}"
  "schedule" .Values.schedule "timezone" .Values.timeZone) -}}
{{- else -}}
{{- $_ := set $own.source "quota" (dict "ledgerDir" "/data/quota") -}}
{{- if not .Values.config.destination -}}
{{- $_ := set $own "destination" (dict "duckdb" ($accounts | ternary "/data/accounts/${account}.duckdb" "/data/published/warehouse.duckdb")) -}}
{{- end -}}
{{- end -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{/* What cannot work is refused before it is applied. */}}
{{- define "sluice.check" -}}
{{- if eq .Values.mode "fleet" -}}
{{- if not .Values.config.accounts -}}
{{- fail "mode fleet needs config.accounts: a fleet shares the accounts of a config" -}}
{{- end -}}
{{- if not .Values.config.destination -}}
{{- fail "mode fleet needs config.destination: workers keep nothing, so it is a lakehouse, a database or a bucket" -}}
{{- end -}}
{{- if not ((.Values.config.fleet | default dict).store) -}}
{{- fail "mode fleet needs config.fleet.store: s3://BUCKET/PREFIX, or postgres" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.postgres.to) -}}
{{- fail "networkPolicy.postgres.to is empty: name where the fleet's database is, or set networkPolicy.enabled to false" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (.Values.config.destination | default dict).postgres (not .Values.networkPolicy.postgres.to) -}}
{{- fail "networkPolicy.postgres.to is empty: name where destination.postgres is, or set networkPolicy.enabled to false" -}}
{{- end -}}
{{- end -}}
