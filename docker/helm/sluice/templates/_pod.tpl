{{/* The pod that every kind of run has: dict "root" . "args" LIST "restartPolicy" TEXT, with "serves" for one that has metrics,
     "brief" for one that is soon done, and "config" for a ConfigMap of its own. */}}
{{- define "sluice.pod" -}}
{{- $root := .root -}}
{{- with .root.Values -}}
{{- $fleet := eq .mode "fleet" -}}
{{- with $.restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ ternary 30 (.terminationGracePeriodSeconds | default (ternary 120 30 $fleet)) (not (not $.brief)) }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: sluice
    image: {{ include "sluice.image" $root | quote }}
    imagePullPolicy: {{ .image.pullPolicy }}
    args:
      {{- toYaml $.args | nindent 6 }}
    {{- if or $.serves .env }}
    env:
      {{- if $.serves }}
      - { name: SLUICE_METRICS_PORT, value: {{ .metrics.port | quote }} }
      # Probes and scrapers come from outside of the pod.
      - { name: SLUICE_METRICS_HOST, value: 0.0.0.0 }
      {{- end }}
      {{- with .env }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- end }}
    {{- if $.serves }}
    ports:
      - name: metrics
        containerPort: {{ .metrics.port }}
    startupProbe:
      httpGet: { path: /healthz, port: metrics }
      periodSeconds: 2
      failureThreshold: 30
    livenessProbe:
      httpGet: { path: /healthz, port: metrics }
      periodSeconds: 30
      timeoutSeconds: 5
      failureThreshold: 3
    readinessProbe:
      httpGet: { path: /readyz, port: metrics }
      periodSeconds: 30
      timeoutSeconds: 5
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    resources:
      {{- if $.brief }}
      requests:
        cpu: 100m
        memory: 512Mi
      limits:
        memory: 512Mi
      {{- else if .resources }}
      {{- toYaml .resources | nindent 6 }}
      {{- else }}
      {{- $memory := ternary "2Gi" (ternary "1Gi" "512Mi" (eq (include "sluice.hasAccounts" $root) "yes")) $fleet }}
      requests:
        cpu: {{ ternary "500m" "250m" $fleet }}
        memory: {{ $memory }}
      limits:
        memory: {{ $memory }}
      {{- end }}
    volumeMounts:
      - { name: data, mountPath: /data }
      - { name: tmp, mountPath: /tmp }
      - { name: config, mountPath: /etc/sluice, readOnly: true }
      - { name: key, mountPath: /run/secrets/sluice, readOnly: true }
      {{- if $fleet }}
      - { name: fleet, mountPath: /run/secrets/fleet, readOnly: true }
      {{- end }}
      {{- range $index, $secret := .secretFiles }}
      - { name: {{ printf "files-%d" $index }}, mountPath: {{ printf "/run/secrets/%s" $secret }}, readOnly: true }
      {{- end }}
volumes:
  - name: data
    {{- if $fleet }}
    # Runs work here: large enough for the work files of all lanes.
    emptyDir:
      sizeLimit: {{ .fleet.scratch }}
    {{- else }}
    persistentVolumeClaim:
      claimName: {{ .persistence.existingClaim | default (printf "%s-data" (include "sluice.fullname" $root)) }}
    {{- end }}
  - name: tmp
    emptyDir:
      sizeLimit: 64Mi
  - name: config
    configMap:
      name: {{ $.config | default (include "sluice.fullname" $root) }}
  - name: key
    # 0440, for the group of the pod.
    {{- if not (include "sluice.hasAccounts" $root) }}
    secret:
      secretName: {{ .keys.secret }}
      defaultMode: 288
      items:
        - { key: {{ .keys.item }}, path: {{ .keys.item }} }
    {{- else if .keys.accountsSecret }}
    secret:
      secretName: {{ .keys.accountsSecret }}
      defaultMode: 288
    {{- else }}
    projected:
      defaultMode: 288
      # One Secret per account. Where one is missing, that account fails and the others sync.
      sources:
        {{- range splitList " " (include "sluice.accountNames" $root) }}
        - secret:
            name: {{ printf "%s%s" $root.Values.keys.accountSecretPrefix . }}
            items:
              - { key: {{ $root.Values.keys.accountItem }}, path: {{ . | quote }} }
            optional: true
        {{- end }}
    {{- end }}
  {{- if $fleet }}
  - name: fleet
    secret:
      secretName: {{ .fleet.secret }}
      defaultMode: 288
  {{- end }}
  {{- range $index, $secret := .secretFiles }}
  - name: {{ printf "files-%d" $index }}
    secret:
      secretName: {{ $secret }}
      defaultMode: 288
  {{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The metadata of a pod. It changes with the config, so that pods that stay start again with it. */}}
{{- define "sluice.podMetadata" -}}
labels:
  {{- include "sluice.selector" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ include "sluice.config" . | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
