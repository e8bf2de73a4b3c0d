{{/* The pod of one component; `component`, `components`, `root`. */}}
{{- define "unigate.podTemplate" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := $component.values -}}
{{- $global := $root.Values -}}
{{- $fullname := include "unigate.fullname" $root -}}
metadata:
  labels:
    {{- include "unigate.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component.name }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    unigate/secrets: {{ include "unigate.secretsMark" $root }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "unigate.serviceAccount" (dict "root" $root "name" $component.name) }}
  automountServiceAccountToken: false
  # A Service named "unigate-metrics" would otherwise set UNIGATE_METRICS_PORT.
  enableServiceLinks: false
  # Sleep, 5 s of being unready, the drain, 10 s to hand over logs and 10 s to close.
  terminationGracePeriodSeconds: {{ add (int $global.preStopSeconds) 25 (int $values.drainSeconds) }}
  {{- with $global.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $global.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.topologySpread }}
  topologySpreadConstraints:
    {{- range . }}
    - topologyKey: {{ .topologyKey }}
      maxSkew: {{ .maxSkew | default 1 | int }}
      whenUnsatisfiable: {{ .whenUnsatisfiable | default "ScheduleAnyway" }}
      labelSelector:
        matchLabels:
          {{- include "unigate.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $component.name }}
    {{- end }}
  {{- end }}
  containers:
    - name: unigate
      image: {{ include "unigate.image" $root }}
      imagePullPolicy: {{ $global.image.pullPolicy }}
      {{- with $global.image.command }}
      command:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      args:
        - --target={{ ternary "all" (join "," $component.targets) (eq $component.name "single") }}
      env:
        {{- include "unigate.environment" . | nindent 8 }}
      {{- with include "unigate.environmentFrom" . }}
      envFrom:
        {{- . | nindent 8 }}
      {{- end }}
      ports:
        {{- if $component.http }}
        - name: http
          containerPort: 8080
        {{- end }}
        {{- if $component.callers }}
        - name: grpc
          containerPort: 50051
        {{- end }}
        - name: metrics
          containerPort: 9090
      startupProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if $global.preStopSeconds }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ int $global.preStopSeconds }}
      {{- end }}
      {{- with $global.containerSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/unigate
        - name: tmp
          mountPath: /tmp
        {{- with include "unigate.mounts" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if not $values.persistence.enabled }}
    - name: data
      emptyDir: {}
    {{- end }}
    - name: tmp
      emptyDir: {}
    {{- with include "unigate.volumes" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "unigate.hasDeclared" -}}
{{- if and .component.administers (or .root.Values.config .root.Values.existingConfigMap.name) -}}true{{- end -}}
{{- end -}}

{{- define "unigate.hasCertificates" -}}
{{- if and (ne .root.Values.mode "single") (ne .root.Values.mesh.auth "token") -}}true{{- end -}}
{{- end -}}

{{/* Whole folders, never single files of them: a file that is mounted alone is not brought up to date. */}}
{{- define "unigate.mounts" -}}
{{- if include "unigate.hasDeclared" . }}
- name: declared
  mountPath: /etc/unigate
  readOnly: true
{{- end }}
{{- if include "unigate.hasCertificates" . }}
- name: mesh-certificates
  mountPath: /etc/unigate-mesh
  readOnly: true
{{- end }}
{{- if .root.Values.extraCertificates.configMap }}
- name: extra-certificates
  mountPath: /etc/unigate-extra-certificates
  readOnly: true
{{- end }}
{{- end -}}

{{- define "unigate.volumes" -}}
{{- $fullname := include "unigate.fullname" .root -}}
{{- if include "unigate.hasDeclared" . }}
- name: declared
  configMap:
    name: {{ .root.Values.existingConfigMap.name | default (printf "%s-declared" $fullname) }}
{{- end }}
{{- if include "unigate.hasCertificates" . }}
- name: mesh-certificates
  secret:
    secretName: {{ include "unigate.certificateSecret" . }}
    # 0440
    defaultMode: 288
{{- end }}
{{- with .root.Values.extraCertificates.configMap }}
- name: extra-certificates
  configMap:
    name: {{ . }}
{{- end }}
{{- end -}}

{{- define "unigate.certificateSecret" -}}
{{- if eq .root.Values.mesh.auth "certificates" -}}
{{- get .root.Values.mesh.certificates.secrets .component.name -}}
{{- else -}}
{{- printf "%s-%s-mesh" (include "unigate.fullname" .root) .component.name -}}
{{- end -}}
{{- end -}}
