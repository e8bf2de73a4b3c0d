{{/* What the schema cannot say: values that cannot be together. All problems at once; each names its value and a remedy. */}}
{{- define "unigate.validate" -}}
{{- $root := .root -}}
{{- $components := .components -}}
{{- $values := $root.Values -}}
{{- $problems := list -}}

{{- $present := list -}}
{{- range $components -}}{{- $present = append $present .name -}}{{- end -}}
{{- range list "single" "edge" "router" "connector" "cache" "policy" "guardrail" "logging" "control" -}}
  {{- if and (get $values .) (not (has . $present)) -}}
    {{- $problems = append $problems (printf "%s has values, but mode %s has no pods of it: leave them out, or put them under one of %s" . $values.mode (join ", " $present)) -}}
  {{- end -}}
{{- end -}}

{{- range $component := $components -}}
  {{- $own := .values -}}
  {{- $name := .name -}}
  {{- $scaled := $own.autoscaling -}}
  {{- range $service, $engine := .unshared -}}
    {{- $who := ternary $name (printf "%s (with %s in its pods)" $name $service) (eq $name $service) -}}
    {{- if $scaled.enabled -}}
      {{- $problems = append $problems (printf "%s.autoscaling.enabled is true, but without %s the state of %s is that of one pod: set %s.url or %s.existingSecret.name, or turn autoscaling off" $name $engine $who $engine $engine) -}}
    {{- else if gt (int $own.replicas) 1 -}}
      {{- $problems = append $problems (printf "%s.replicas is %d, but without %s the state of %s is that of one pod: set %s.url or %s.existingSecret.name, or %s.replicas to 1" $name (int $own.replicas) $engine $who $engine $engine $name) -}}
    {{- end -}}
  {{- end -}}
  {{- if $scaled.enabled -}}
    {{- if gt (int $scaled.minReplicas) (int $scaled.maxReplicas) -}}
      {{- $problems = append $problems (printf "%s.autoscaling.minReplicas is %d, more than maxReplicas, %d: expected at most as many" $name (int $scaled.minReplicas) (int $scaled.maxReplicas)) -}}
    {{- end -}}
    {{- if not (dig "requests" "cpu" "" ($own.resources | default dict)) -}}
      {{- $problems = append $problems (printf "%s.autoscaling needs %s.resources.requests.cpu: its percentage is one of that" $name $name) -}}
    {{- end -}}
  {{- end -}}
  {{- range $own.extraEnv -}}
    {{- if regexMatch "^(UNIGATE_.*|HOST|PORT|NODE_EXTRA_CA_CERTS)$" .name -}}
      {{- $problems = append $problems (printf "%s.extraEnv sets %s: the chart sets it from its own values; put settings of the program under settings" $name .name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}

{{- range $name, $given := dict "redis" (list .root.Values.redis.url .root.Values.redis.existingSecret "redis.url") "database" (list .root.Values.database.url .root.Values.database.existingSecret "database.url") "kafka.sasl" (list .root.Values.kafka.sasl.password .root.Values.kafka.sasl.existingSecret "kafka.sasl.password") "otlp" (list .root.Values.otlp.headers .root.Values.otlp.existingSecret "otlp.headers") "adminKey" (list .root.Values.adminKey.value .root.Values.adminKey.existingSecret "adminKey.value") "masterKey" (list .root.Values.masterKey.value .root.Values.masterKey.existingSecret "masterKey.value") "mesh.token" (list .root.Values.mesh.token.value .root.Values.mesh.token.existingSecret "mesh.token.value") -}}
  {{- if and (index $given 0) (index $given 1).name -}}
    {{- $problems = append $problems (printf "%s and %s.existingSecret.name are both set: expected one of them" (index $given 2) $name) -}}
  {{- end -}}
{{- end -}}

{{- $forms := list
  (list "redis.url" $values.redis.url "^rediss?://\\S+$" "redis://user:password@host:6379/0, or rediss:// for TLS")
  (list "database.url" $values.database.url "^postgres(ql)?://\\S+$" "postgres://user:password@host:5432/database")
  (list "adminKey.value" $values.adminKey.value "^\\S{16,}$" "16 characters or more, without spaces")
  (list "masterKey.value" $values.masterKey.value "^([0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=)$" "32 bytes as base64 (44 characters) or hex (64 characters)")
  (list "mesh.token.value" $values.mesh.token.value "^[!-~]{16,}$" "16 characters or more of ASCII, without spaces")
-}}
{{- range $forms -}}
  {{- if and (index . 1) (not (regexMatch (index . 2) (index . 1))) -}}
    {{- $problems = append $problems (printf "%s does not have the right form: expected %s" (index . 0) (index . 3)) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $value := $values.providerKeys.values -}}
  {{- if or (not (regexMatch "^[A-Za-z_][A-Za-z0-9_]*$" $name)) (regexMatch "^(UNIGATE_.*|HOST|PORT)$" $name) (not $value) -}}
    {{- $problems = append $problems (printf "providerKeys.values.%s cannot be a variable: expected a name such as OPENAI_API_KEY that is no setting of the program, and a value" $name) -}}
  {{- end -}}
{{- end -}}

{{- $login := or $values.kafka.sasl.password $values.kafka.sasl.existingSecret.name -}}
{{- if and $values.kafka.sasl.username (not $login) -}}
  {{- $problems = append $problems "kafka.sasl.username is set without a password: set kafka.sasl.password or kafka.sasl.existingSecret.name" -}}
{{- end -}}
{{- if and $login (not $values.kafka.sasl.username) -}}
  {{- $problems = append $problems "kafka.sasl has a password, but no kafka.sasl.username: set the user it belongs to" -}}
{{- end -}}
{{- if and $values.kafka.sasl.username (not $values.kafka.brokers) -}}
  {{- $problems = append $problems "kafka.sasl.username is set without kafka.brokers: set host:port of some brokers" -}}
{{- end -}}
{{- if and (or $values.otlp.headers $values.otlp.existingSecret.name) (not $values.otlp.endpoint) -}}
  {{- $problems = append $problems "otlp has headers, but no otlp.endpoint: set the collector they are for" -}}
{{- end -}}

{{- $mesh := $values.mesh -}}
{{- if eq $values.mode "single" -}}
  {{- if or (ne $mesh.auth "token") $mesh.token.value $mesh.token.existingSecret.name -}}
    {{- $problems = append $problems "mesh has values, but mode single has no mesh: leave them out, or set mode to mesh or compact" -}}
  {{- end -}}
{{- end -}}
{{- if and (ne $mesh.auth "token") (or $mesh.token.value $mesh.token.existingSecret.name) -}}
  {{- $problems = append $problems (printf "mesh.token is set, but mesh.auth is %s: leave it out, or set mesh.auth to token" $mesh.auth) -}}
{{- end -}}
{{- if and (eq $mesh.auth "cert-manager") (not $mesh.certManager.issuerRef.name) -}}
  {{- $problems = append $problems "mesh.auth is cert-manager without mesh.certManager.issuerRef.name: set the issuer that signs the certificates of the mesh" -}}
{{- end -}}
{{- if and (ne $mesh.auth "cert-manager") $mesh.certManager.issuerRef.name -}}
  {{- $problems = append $problems (printf "mesh.certManager.issuerRef.name is set, but mesh.auth is %s: leave it out, or set mesh.auth to cert-manager" $mesh.auth) -}}
{{- end -}}
{{- if and (eq $mesh.auth "certificates") (ne $values.mode "single") -}}
  {{- range $present -}}
    {{- if not (get $mesh.certificates.secrets .) -}}
      {{- $problems = append $problems (printf "mesh.certificates.secrets.%s is missing: set the Secret with tls.crt, tls.key and ca.crt of these pods" .) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $name, $_ := $mesh.certificates.secrets -}}
  {{- if or (ne $mesh.auth "certificates") (not (has $name $present)) -}}
    {{- $problems = append $problems (printf "mesh.certificates.secrets.%s is set, but nothing uses it with mode %s and mesh.auth %s: leave it out" $name $values.mode $mesh.auth) -}}
  {{- end -}}
{{- end -}}

{{- if and $values.ingress.enabled (not $values.ingress.hosts) -}}
  {{- $problems = append $problems "ingress.enabled is true without ingress.hosts: set at least one host name" -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}
  {{- $problems = append $problems "httpRoute.enabled is true without httpRoute.parentRefs: set the gateway it hangs on" -}}
{{- end -}}
{{- if and $values.config $values.existingConfigMap.name -}}
  {{- $problems = append $problems "config and existingConfigMap.name are both set: expected one of them" -}}
{{- end -}}
{{- if and $values.serviceAccount.create $values.serviceAccount.name -}}
  {{- $problems = append $problems "serviceAccount.name is set, but serviceAccount.create makes one for each kind of pod: set create to false, or leave the name out" -}}
{{- end -}}

{{- range (include "unigate.plainSecrets" (dict "at" "config" "value" $values.config) | fromYaml).found -}}
  {{- $problems = append $problems (printf "%s is a secret as plain text, and would be in a ConfigMap: write ${NAME}, and put NAME into providerKeys.values or into the Secret of providerKeys.existingSecret" .) -}}
{{- end -}}

{{- if $problems -}}
  {{- fail (printf "\n\nThese values cannot be used:\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* Paths of credentials in declared resources that are not references to the environment. */}}
{{- define "unigate.plainSecrets" -}}
{{- $at := .at -}}
{{- $found := list -}}
{{- if kindIs "map" .value -}}
  {{- range $name, $value := .value -}}
    {{- $path := printf "%s.%s" $at $name -}}
    {{- $secret := has $name (list "api_key" "cloud_access_key_id" "cloud_secret_access_key" "cloud_session_token" "cloudb_service_account_json" "cloudc_entra_client_secret" "aws_access_key_id" "aws_secret_access_key" "aws_session_token" "vertex_service_account_json" "azure_entra_client_secret") -}}
    {{- if or $secret (and (eq $name "key") (regexMatch "^config\\.keys\\[[0-9]+\\]$" $at)) -}}
      {{- if not (and (kindIs "string" $value) (or (eq $value "") (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" $value))) -}}{{- $found = append $found $path -}}{{- end -}}
    {{- else -}}
      {{- $found = concat $found ((include "unigate.plainSecrets" (dict "at" $path "value" $value) | fromYaml).found | default list) -}}
    {{- end -}}
  {{- end -}}
{{- else if kindIs "slice" .value -}}
  {{- range $index, $value := .value -}}
    {{- $found = concat $found ((include "unigate.plainSecrets" (dict "at" (printf "%s[%d]" $at $index) "value" $value) | fromYaml).found | default list) -}}
  {{- end -}}
{{- end -}}
{{- dict "found" $found | toYaml -}}
{{- end -}}
