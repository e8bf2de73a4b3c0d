{{/* Who may call a component, and what it may reach: the caller table of the mesh as a NetworkPolicy. */}}
{{- define "unigate.networkPolicy" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $components := .components -}}
{{- $policy := $root.Values.networkPolicy -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "unigate.fullname" $root }}-{{ $component.name }}
  {{- include "unigate.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "unigate.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component.name }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- if $component.http }}
    - ports:
        - port: 8080
          protocol: TCP
      {{- with $policy.clients }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- if $component.callers }}
    - ports:
        - port: 50051
          protocol: TCP
      from:
        {{- range $component.callers }}
        {{- include "unigate.peer" (dict "root" $root "name" .) | nindent 8 }}
        {{- end }}
    {{- end }}
    - ports:
        - port: 9090
          protocol: TCP
      from:
        {{- toYaml $policy.metricsClients | nindent 8 }}
  egress:
    {{- include "unigate.egressNames" $root | nindent 4 }}
    {{- range $component.needs }}
    - ports:
        - port: 50051
          protocol: TCP
      to:
        {{- include "unigate.peer" (dict "root" $root "name" (include "unigate.home" (dict "service" . "components" $components))) | nindent 8 }}
    {{- end }}
    {{- range $component.engines }}
    {{- include "unigate.egressEngine" (dict "root" $root "engine" .) | nindent 4 }}
    {{- end }}
    {{- if $component.internet }}
    - to:
        {{- range list (dict "cidr" "0.0.0.0/0" "dot" true) (dict "cidr" "::/0" "dot" false) }}
        {{- $family := . }}
        {{- $except := list }}
        {{- range $policy.internetExcept }}
        {{- if eq (contains ":" .) (not $family.dot) }}{{- $except = append $except . }}{{- end }}
        {{- end }}
        - ipBlock:
            cidr: {{ $family.cidr | quote }}
            {{- with $except }}
            except:
              {{- toYaml . | nindent 14 }}
            {{- end }}
        {{- end }}
        {{- with $policy.internetExtra }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- end }}
{{- end -}}

{{/* The pods of one component. */}}
{{- define "unigate.peer" -}}
- podSelector:
    matchLabels:
      {{- include "unigate.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{/* Looking up names. */}}
{{- define "unigate.egressNames" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/* One engine: its ports, at any address or at those of the values. */}}
{{- define "unigate.egressEngine" -}}
- ports:
    {{- range (include "unigate.enginePorts" . | fromYaml).ports }}
    - port: {{ int . }}
      protocol: TCP
    {{- end }}
  {{- with (get .root.Values.networkPolicy.engines .engine).to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
