{{- define "effect-relayer.name" -}}
{{- if contains "effect-relayer" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-effect-relayer" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "effect-relayer.labels" -}}
app.kubernetes.io/name: effect-relayer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "effect-relayer.isEmbedded" -}}
{{- if eq .Values.database "embedded" }}true{{ end }}
{{- end }}

{{/* The secret whose entries are variables. Empty: none. */}}
{{- define "effect-relayer.secret" -}}
{{- if .Values.secret.name }}{{ .Values.secret.name }}
{{- else if .Values.secret.external.enabled }}{{ include "effect-relayer.name" . }}
{{- else if eq .Values.database "external" }}{{ fail "secret.name: with `database: external`, name a secret that has API_KEY, STORAGE_ENCRYPTION_KEY and DATABASE_URL, or enable secret.external" }}
{{- end }}
{{- end }}

{{- define "effect-relayer.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "effect-relayer.environment" -}}
{{- $own := dict "HOST" "0.0.0.0" "PORT" "8080" "DATA_DIR" (ternary "/data" "/tmp" (eq .Values.database "embedded")) "SHUTDOWN_GRACE_MS" "10000" "LOG_FORMAT" "json" }}
{{- range $name, $value := merge (deepCopy .Values.settings) $own }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* What a Deployment and a StatefulSet run. */}}
{{- define "effect-relayer.pod" -}}
metadata:
  labels:
    {{- include "effect-relayer.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .Values.serviceAccount.name }}
  serviceAccountName: {{ . }}
  {{- end }}
  automountServiceAccountToken: {{ ne .Values.serviceAccount.name "" }}
  # Longer than SHUTDOWN_GRACE_MS and the pause before it.
  terminationGracePeriodSeconds: 30
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    {{- if include "effect-relayer.isEmbedded" . }}
    fsGroup: 1000
    # PostgreSQL demands a folder that only its user can read, whose mode is changed at a mount only if the owner is not the right one.
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile: { type: RuntimeDefault }
  {{- if not (include "effect-relayer.isEmbedded" .) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "effect-relayer.labels" . | nindent 10 }}
  {{- end }}
  containers:
    - name: effect-relayer
      image: {{ include "effect-relayer.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      ports:
        - { name: http, containerPort: 8080 }
      {{- with include "effect-relayer.secret" . }}
      envFrom:
        - secretRef: { name: {{ . }} }
      {{- end }}
      env:
        {{- include "effect-relayer.environment" . | nindent 8 }}
      startupProbe:
        httpGet: { path: /v1/health, port: http }
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /v1/health, port: http }
        periodSeconds: 10
        timeoutSeconds: 3
      readinessProbe:
        httpGet: { path: /api/v1/ready, port: http }
        periodSeconds: 3
        # Longer than the 2 seconds that the readiness check waits for the database.
        timeoutSeconds: 3
      lifecycle:
        # Requests still arrive until all load balancers have removed the endpoint.
        preStop:
          sleep: { seconds: 5 }
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if include "effect-relayer.isEmbedded" . }}
        - { name: data, mountPath: /data }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { medium: Memory, sizeLimit: 16Mi }
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
