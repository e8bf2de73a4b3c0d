{{/* One variable from a Secret: the given one, else a Secret of this chart. */}}
{{- define "unigate.secretVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .source.existingSecret.name | default .own }}
      key: {{ ternary .source.existingSecret.key .key (ne .source.existingSecret.name "") }}
{{- end -}}

{{/* UNIGATE_DATABASE_URL; `own` = the Secret of this chart that holds it. */}}
{{- define "unigate.databaseVariable" -}}
{{- include "unigate.secretVariable" (dict "variable" "UNIGATE_DATABASE_URL" "source" .root.Values.database "own" .own "key" "database-url") -}}
{{- end -}}

{{/* Everything that one component reads from its environment. */}}
{{- define "unigate.environment" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := $root.Values -}}
{{- $fullname := include "unigate.fullname" $root -}}
{{- $keys := printf "%s-keys" $fullname -}}
{{- $engines := printf "%s-engines" $fullname -}}
- name: HOST
  value: {{ $values.listenHost | quote }}
{{- if $component.http }}
- name: PORT
  value: "8080"
{{- end }}
- name: UNIGATE_DATA_DIR
  value: /var/lib/unigate
- name: UNIGATE_METRICS_PORT
  value: "9090"
- name: UNIGATE_DRAIN_SECONDS
  value: {{ $component.values.drainSeconds | int | quote }}
{{- if $component.values.workers }}
- name: UNIGATE_WORKERS
  value: {{ include "unigate.text" $component.values.workers | quote }}
{{- end }}
{{- if ne $values.mode "single" }}
- name: UNIGATE_GRPC_LISTEN
  value: {{ ternary ":50051" "127.0.0.1:50051" (gt (len $component.callers) 0) | quote }}
{{- range $component.needs }}
- name: UNIGATE_{{ upper . }}_ADDR
  value: dns:///{{ $fullname }}-{{ include "unigate.home" (dict "service" . "components" $.components) }}.{{ $root.Release.Namespace }}.svc:50051
{{- end }}
{{- if eq $values.mesh.auth "token" }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_MESH_TOKEN" "source" $values.mesh.token "own" $keys "key" "mesh-token") }}
{{- else }}
- name: UNIGATE_MESH_CERT
  value: /etc/unigate-mesh/tls.crt
- name: UNIGATE_MESH_KEY
  value: /etc/unigate-mesh/tls.key
- name: UNIGATE_MESH_CA
  value: /etc/unigate-mesh/ca.crt
{{- end }}
{{- end }}
{{- if $component.masterKey }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_MASTER_KEY" "source" $values.masterKey "own" $keys "key" "master-key") }}
{{- end }}
{{- if $component.administers }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_ADMIN_KEY" "source" $values.adminKey "own" $keys "key" "admin-key") }}
{{- if or $values.config $values.existingConfigMap.name }}
- name: UNIGATE_CONFIG
  value: /etc/unigate/{{ ternary $values.existingConfigMap.key "unigate.yaml" (ne $values.existingConfigMap.name "") }}
{{- end }}
{{- end }}
{{- if has "redis" $component.engines }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_REDIS_URL" "source" $values.redis "own" $engines "key" "redis-url") }}
- name: UNIGATE_REDIS_CLUSTER
  value: {{ $values.redis.cluster | quote }}
{{- end }}
{{- if has "database" $component.engines }}
{{ include "unigate.databaseVariable" (dict "root" $root "own" $engines) }}
{{- end }}
{{- if has "kafka" $component.engines }}
- name: UNIGATE_KAFKA_BROKERS
  value: {{ join "," $values.kafka.brokers | quote }}
- name: UNIGATE_KAFKA_TOPIC_PREFIX
  value: {{ $values.kafka.topicPrefix | quote }}
- name: UNIGATE_KAFKA_TLS
  value: {{ $values.kafka.tls | quote }}
{{- with $values.kafka.sasl }}
{{- if .username }}
- name: UNIGATE_KAFKA_SASL_MECHANISM
  value: {{ .mechanism }}
- name: UNIGATE_KAFKA_SASL_USERNAME
  value: {{ .username | quote }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_KAFKA_SASL_PASSWORD" "source" . "own" $engines "key" "kafka-sasl-password") }}
{{- end }}
{{- end }}
{{- end }}
{{- if has "otlp" $component.engines }}
- name: UNIGATE_OTLP_ENDPOINT
  value: {{ $values.otlp.endpoint | quote }}
{{- if or $values.otlp.headers $values.otlp.existingSecret.name }}
{{ include "unigate.secretVariable" (dict "variable" "UNIGATE_OTLP_HEADERS" "source" $values.otlp "own" $engines "key" "otlp-headers") }}
{{- end }}
{{- end }}
{{- if $values.extraCertificates.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/unigate-extra-certificates/{{ $values.extraCertificates.key }}
{{- end }}
{{- range $name, $value := $values.settings }}
- name: {{ $name }}
  value: {{ include "unigate.text" $value | quote }}
{{- end }}
{{- with $component.values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Keys of providers and whatever else the declared resources refer to as ${NAME}: for the component that declares. */}}
{{- define "unigate.environmentFrom" -}}
{{- if .component.administers -}}
{{- with .root.Values.providerKeys.existingSecret -}}
- secretRef:
    name: {{ . }}
{{ end -}}
{{- if .root.Values.providerKeys.values -}}
- secretRef:
    name: {{ include "unigate.fullname" .root }}-provider-keys
{{ end -}}
{{- end -}}
{{- end -}}

{{/* Of everything inline that reaches a pod as a variable: another value, another pod. Generated keys never change. */}}
{{- define "unigate.secretsMark" -}}
{{- $v := .Values -}}
{{- list $v.redis $v.database $v.kafka.sasl $v.otlp $v.mesh.token $v.adminKey $v.masterKey $v.providerKeys | toJson | sha256sum -}}
{{- end -}}
