{{/*
The kinds of pods of this mode as YAML, under "components": for each its name, the services in it, what they need
together, who calls it, and its values over those of `defaults`. Everything that differs between services is in
files/services.yaml.
*/}}
{{- define "unigate.components" -}}
{{- $root := . -}}
{{- $facts := .Files.Get "files/services.yaml" | fromYaml -}}
{{- $engines := include "unigate.engines" . | fromYaml -}}
{{- $components := list -}}
{{- range $name, $targets := get $facts.modes .Values.mode -}}
  {{- $needs := list -}}
  {{- $used := list -}}
  {{- $unshared := dict -}}
  {{- $onDisk := false -}}
  {{- $is := dict "masterKey" false "administers" false "internet" false "http" false -}}
  {{- range $target := $targets -}}
    {{- $fact := get $facts.services $target -}}
    {{- range $fact.needs -}}
      {{- if not (has . $targets) -}}{{- $needs = append $needs . | uniq -}}{{- end -}}
    {{- end -}}
    {{- range $fact.engines -}}
      {{- if get $engines . -}}{{- $used = append $used . | uniq -}}{{- end -}}
    {{- end -}}
    {{- if and $fact.sharedBy (not (get $engines $fact.sharedBy)) -}}
      {{- $_ := set $unshared $target $fact.sharedBy -}}
      {{- if $fact.keepsOnDisk -}}{{- $onDisk = true -}}{{- end -}}
    {{- end -}}
    {{- range $key, $_ := $is -}}
      {{- if get $fact $key -}}{{- $_ := set $is $key true -}}{{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $values := mergeOverwrite (deepCopy $root.Values.defaults) (deepCopy (get $root.Values $name)) -}}
  {{- if $values.spool -}}
    {{- $_ := set $values "persistence" (mergeOverwrite (deepCopy $values.persistence) (deepCopy ($values.spool.persistence | default dict))) -}}
  {{- end -}}
  {{- if kindIs "invalid" $values.replicas -}}
    {{- $_ := set $values "replicas" (ternary 1 2 (or (eq $name "single") (gt (len $unshared) 0))) -}}
  {{- end -}}
  {{- if kindIs "invalid" $values.persistence.enabled -}}
    {{- $_ := set $values.persistence "enabled" (or $onDisk (eq $name "single")) -}}
  {{- end -}}
  {{- if kindIs "invalid" $values.drainSeconds -}}
    {{- $_ := set $values "drainSeconds" (ternary 120 150 $is.http) -}}
  {{- end -}}
  {{- $components = append $components (merge (dict "name" $name "targets" $targets "needs" $needs "engines" $used "unshared" $unshared "onDisk" $onDisk "values" $values) $is) -}}
{{- end -}}
{{- range $component := $components -}}
  {{- $callers := list -}}
  {{- range $caller := $components -}}
    {{- range $caller.needs -}}
      {{- if has . $component.targets -}}{{- $callers = append $callers $caller.name | uniq -}}{{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $component "callers" $callers -}}
{{- end -}}
{{- dict "components" $components | toYaml -}}
{{- end -}}

{{/* The component that a service runs in. */}}
{{- define "unigate.home" -}}
{{- $service := .service -}}
{{- range .components -}}
{{- if has $service .targets -}}{{ .name }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Which engines are configured. */}}
{{- define "unigate.engines" -}}
redis: {{ or (ne .Values.redis.url "") (ne .Values.redis.existingSecret.name "") }}
database: {{ or (ne .Values.database.url "") (ne .Values.database.existingSecret.name "") }}
kafka: {{ gt (len .Values.kafka.brokers) 0 }}
otlp: {{ ne .Values.otlp.endpoint "" }}
{{- end -}}

{{/* The ports of an engine: as given, else those in its address, else its usual one. */}}
{{- define "unigate.enginePorts" -}}
{{- $usual := dict "redis" 6379 "database" 5432 "kafka" 9092 "otlp" 4318 -}}
{{- $addresses := dict "redis" .root.Values.redis.url "database" .root.Values.database.url "kafka" (join "," .root.Values.kafka.brokers) "otlp" .root.Values.otlp.endpoint -}}
{{- $ports := list -}}
{{- range (get .root.Values.networkPolicy.engines .engine).ports -}}{{- $ports = append $ports (int .) -}}{{- end -}}
{{- if not $ports -}}
  {{- range regexFindAll ":[0-9]{1,5}(?:[/,?]|$)" (get $addresses .engine) -1 -}}
    {{- $ports = append $ports (regexFind "[0-9]+" . | int) | uniq -}}
  {{- end -}}
{{- end -}}
{{- if not $ports -}}{{- $ports = list (get $usual .engine) -}}{{- end -}}
{{- dict "ports" $ports | toYaml -}}
{{- end -}}
