{{/* Every object of one component: `component`, `components`, `root`. */}}
{{- define "unigate.service" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := $component.values -}}
{{- $name := printf "%s-%s" (include "unigate.fullname" $root) $component.name -}}
{{- $kind := ternary "StatefulSet" "Deployment" $values.persistence.enabled -}}
apiVersion: apps/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- include "unigate.metadata" . | nindent 2 }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ int $values.replicas }}
  {{- end }}
  {{- if eq $kind "StatefulSet" }}
  serviceName: {{ $name }}
  podManagementPolicy: Parallel
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  {{- end }}
  selector:
    matchLabels:
      {{- include "unigate.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component.name }}
  template:
    {{- include "unigate.podTemplate" . | nindent 4 }}
  {{- if eq $kind "StatefulSet" }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $values.persistence.size }}
  {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  {{- include "unigate.metadata" . | nindent 2 }}
spec:
  # Callers see every pod and share their calls among them.
  clusterIP: None
  selector:
    {{- include "unigate.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component.name }}
  ports:
    {{- if $component.http }}
    - name: http
      port: 8080
      targetPort: http
      appProtocol: http
    {{- end }}
    {{- if $component.callers }}
    - name: grpc
      port: 50051
      targetPort: grpc
      appProtocol: grpc
    {{- end }}
    - name: metrics
      port: 9090
      targetPort: metrics
      appProtocol: http
{{- if $root.Values.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  {{- include "unigate.metadata" . | nindent 2 }}
  {{- with $values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- if $values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  {{- include "unigate.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ $values.podDisruptionBudget.maxUnavailable }}
  # A pod that is not ready serves nobody: it never holds up a drain of its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "unigate.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component.name }}
{{- end }}
{{- with $values.autoscaling }}
{{- if .enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  {{- include "unigate.metadata" $ | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: {{ $kind }}
    name: {{ $name }}
  minReplicas: {{ int .minReplicas }}
  maxReplicas: {{ int .maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int .cpuPercent }}
  behavior:
    scaleDown:
      # Each pod that goes drains for minutes: one at a time.
      stabilizationWindowSeconds: {{ int .scaleDownSeconds }}
      policies:
        - type: Pods
          value: 1
          periodSeconds: 60
{{- end }}
{{- end }}
{{- if $root.Values.networkPolicy.enabled }}
---
{{ include "unigate.networkPolicy" . }}
{{- end }}
{{- end -}}

{{- define "unigate.metadata" -}}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "unigate.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component.name }}
{{- end -}}
