{{- define "hub.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What a selector asks for: (dict "root" $ "role" "web") */}}
{{- define "hub.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "hub.secret" -}}
{{ .Values.existingSecret | default .Release.Name }}
{{- end }}

{{- define "hub.image" -}}
{{- $image := index .root.Values.images .image -}}
image: {{ printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{/* What pods are started anew for: changed settings and secrets. */}}
{{- define "hub.checksums" -}}
checksum/settings: {{ include (print .Template.BasePath "/settings.yaml") . | sha256sum }}
{{- if .Values.existingSecret }}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.existingSecret | default dict }}
checksum/secret: {{ printf "%s %s" .Values.existingSecretVersion (toJson (get $secret "data" | default dict)) | sha256sum }}
{{- end }}
{{- end }}

{{/* Annotations of a pod: (dict "root" $ "of" .Values.web) */}}
{{- define "hub.annotations" -}}
{{ include "hub.checksums" .root }}
{{- range $name, $value := merge (dict) (.of.podAnnotations | default dict) .root.Values.podAnnotations }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Where a pod runs: (dict "of" .Values.web) */}}
{{- define "hub.placement" -}}
{{- with .of.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .of.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .of.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "hub.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary .Release.Name "default") }}
{{- end }}

{{- define "hub.pod" -}}
automountServiceAccountToken: false
serviceAccountName: {{ include "hub.serviceAccount" . | quote }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "env" (list …)) */}}
{{- define "hub.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - configMapRef: {name: {{ .root.Release.Name | quote }}}
  - secretRef: {name: {{ include "hub.secret" .root | quote }}}
{{- with concat (.env | default list) .root.Values.extraEnv }}
env: {{ toJson . }}
{{- end }}
{{- end }}

{{/* What a probe asks for, by a host name that the hub always answers to. */}}
{{- define "hub.page" -}}
{path: {{ . }}, port: http, httpHeaders: [{name: Host, value: 127.0.0.1}]}
{{- end }}

{{/* Folders that a container writes to. */}}
{{- define "hub.mounts" -}}
- {name: home, mountPath: /var/lib/hub}
- {name: scratch, mountPath: /tmp}
{{- if .Values.storage.claim }}
- {name: storage, mountPath: /srv/blobs}
{{- end }}
{{- range .Values.extraVolumeMounts }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "scratch" "20Gi") */}}
{{- define "hub.volumes" -}}
- name: home
  emptyDir: {sizeLimit: {{ .scratch | quote }}}
- name: scratch
  emptyDir: {sizeLimit: {{ .scratch | quote }}}
{{- with .root.Values.storage.claim }}
- name: storage
  persistentVolumeClaim: {claimName: {{ . | quote }}}
{{- end }}
{{- range .root.Values.extraVolumes }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{/* Holds a new pod back until the database is that of its release: (dict "root" $ "image" "web") */}}
{{- define "hub.setupFirst" -}}
- name: wait-for-setup
  {{- include "hub.image" . | nindent 2 }}
  args: [wait-for-setup]
  {{- include "hub.container" (dict "root" .root) | nindent 2 }}
  volumeMounts: {{- include "hub.mounts" .root | nindent 4 }}
{{- end }}

{{/* The longest that a job may take, as hub/server/settings/celery.py computes it. */}}
{{- define "hub.jobSeconds" -}}
{{- add (max 3600 (mul 4 (int (.Values.settings.HUB_LIMITS_JOB_SECONDS | default 600)))) 60 -}}
{{- end }}

{{/* A worker's pod: (dict "root" $ "image" … "args" … "resources" … "scratch" … "of" values with its place) */}}
{{- define "hub.workerPod" -}}
{{- /* Workers of one node share its host, so that a benchmark has it for itself. */}}
{{- $env := list (dict "name" "HUB_WORKER_HOST" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName"))) }}
{{- if .concurrency }}
{{- $env = append $env (dict "name" "WORKER_CONCURRENCY" "value" (toString .concurrency)) }}
{{- end }}
{{ include "hub.pod" .root }}
# A job in hand is finished before the worker goes: at most CELERY_TASK_TIME_LIMIT of the settings.
terminationGracePeriodSeconds: {{ include "hub.jobSeconds" .root }}
initContainers: {{- include "hub.setupFirst" . | nindent 2 }}
containers:
  - name: worker
    {{- include "hub.image" . | nindent 4 }}
    args: {{ toJson .args }}
    {{- include "hub.container" (dict "root" .root "env" $env) | nindent 4 }}
    resources: {{ toJson .resources }}
    startupProbe: &alive
      exec: {command: [entrypoint, worker-is-alive]}
      periodSeconds: 60
      timeoutSeconds: 20
      failureThreshold: 5
    livenessProbe: *alive
    volumeMounts: {{- include "hub.mounts" .root | nindent 6 }}
volumes: {{- include "hub.volumes" . | nindent 2 }}
{{- include "hub.placement" . }}
{{- end }}
