{{/*
The keys that this chart keeps: what is given, else what the Secret in the cluster holds already, else a new one. Only a
client that talks to the cluster sees that Secret: with `helm template` and tools that build on it every rendering would
make new keys, so give existingSecret there.
*/}}
{{- define "unigate.keys" -}}
{{- $found := dict -}}
{{- with lookup "v1" "Secret" .Release.Namespace (printf "%s-keys" (include "unigate.fullname" .)) -}}
  {{- $found = .data | default dict -}}
{{- end -}}
{{- $keys := dict -}}
{{- if not .Values.adminKey.existingSecret.name -}}
  {{- $_ := set $keys "admin-key" (.Values.adminKey.value | default (get $found "admin-key" | b64dec) | default (printf "ugadmin-%s" (randAlphaNum 48))) -}}
{{- end -}}
{{- if not .Values.masterKey.existingSecret.name -}}
  {{- $_ := set $keys "master-key" (.Values.masterKey.value | default (get $found "master-key" | b64dec) | default (randBytes 32)) -}}
{{- end -}}
{{- if and (ne .Values.mode "single") (eq .Values.mesh.auth "token") (not .Values.mesh.token.existingSecret.name) -}}
  {{- $_ := set $keys "mesh-token" (.Values.mesh.token.value | default (get $found "mesh-token" | b64dec) | default (randAlphaNum 48)) -}}
{{- end -}}
{{- toYaml $keys -}}
{{- end -}}

{{/* Addresses of engines with passwords in them, that were given as values. */}}
{{- define "unigate.engineSecrets" -}}
{{- $secrets := dict -}}
{{- with .Values.redis.url -}}{{- $_ := set $secrets "redis-url" . -}}{{- end -}}
{{- with .Values.database.url -}}{{- $_ := set $secrets "database-url" . -}}{{- end -}}
{{- with .Values.kafka.sasl.password -}}{{- $_ := set $secrets "kafka-sasl-password" . -}}{{- end -}}
{{- with .Values.otlp.headers -}}{{- $_ := set $secrets "otlp-headers" . -}}{{- end -}}
{{- toYaml $secrets -}}
{{- end -}}
