{{/* Short enough for the longest name made from it, with the hash that a StatefulSet adds. */}}
{{- define "unigate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "unigate" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-unigate" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "unigate.selector" -}}
app.kubernetes.io/name: unigate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "unigate.labels" -}}
{{ include "unigate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "unigate.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* A number of the values as a person would write it: Helm reads all of them as floating point. */}}
{{- define "unigate.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{- define "unigate.serviceAccount" -}}
{{- $root := .root -}}
{{- if $root.Values.serviceAccount.create -}}
{{- printf "%s-%s" (include "unigate.fullname" $root) .name -}}
{{- else -}}
{{- $root.Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}
