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

{{- define "hub.pod" -}}
automountServiceAccountToken: false
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

{{- define "hub.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - configMapRef: {name: {{ .Release.Name | quote }}}
  - secretRef: {name: {{ include "hub.secret" . | quote }}}
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
{{- end }}

{{/* Holds a new pod back until the database is that of its release: (dict "root" $ "image" "web") */}}
{{- define "hub.setupFirst" -}}
- name: wait-for-setup
  {{- include "hub.image" . | nindent 2 }}
  args: [wait-for-setup]
  {{- include "hub.container" .root | nindent 2 }}
  volumeMounts: {{- include "hub.mounts" .root | nindent 4 }}
{{- end }}

{{/* The longest that a job may take, as hub/server/settings/celery.py computes it. */}}
{{- define "hub.jobSeconds" -}}
{{- add (max 3600 (mul 4 (int (.Values.settings.HUB_LIMITS_JOB_SECONDS | default 600)))) 60 -}}
{{- end }}

{{/* A worker's pod: (dict "root" $ "image" … "args" … "resources" … "scratch" … "nodeSelector" … "tolerations" …) */}}
{{- define "hub.workerPod" -}}
{{ include "hub.pod" .root }}
# A job in hand is finished before the worker goes: at most CELERY_TASK_TIME_LIMIT of the settings.
terminationGracePeriodSeconds: {{ include "hub.jobSeconds" .root }}
initContainers: {{- include "hub.setupFirst" . | nindent 2 }}
containers:
  - name: worker
    {{- include "hub.image" . | nindent 4 }}
    args: {{ toJson .args }}
    {{- include "hub.container" .root | nindent 4 }}
    env:
      # Workers of one node share its host, so that a benchmark has it for itself.
      - name: HUB_WORKER_HOST
        valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
      {{- with .concurrency }}
      - {name: WORKER_CONCURRENCY, value: {{ . | quote }}}
      {{- end }}
    resources: {{ toJson .resources }}
    startupProbe: &alive
      exec: {command: [entrypoint, worker-is-alive]}
      periodSeconds: 60
      timeoutSeconds: 20
      failureThreshold: 5
    livenessProbe: *alive
    volumeMounts: {{- include "hub.mounts" .root | nindent 6 }}
volumes: {{- include "hub.volumes" . | nindent 2 }}
{{- with .nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}
