{{- define "jobledger.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "jobledger.account" -}}
{{- default (include "jobledger.name" .) .Values.serviceAccount.name -}}
{{- end }}

{{- define "jobledger.image" -}}
{{- $image := .Values.image -}}
{{- $repository := required "image.repository is empty: say where your image is, --set image.repository=registry.example/jobledger" $image.repository -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end }}

{{- /* Labels of every object; of: dict "root" . "part" "controller". */}}
{{- define "jobledger.labels" -}}
{{ include "jobledger.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "jobledger.selector" -}}
app.kubernetes.io/name: jobledger
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- /* The namespace of the claims, the release's where none is said. */}}
{{- define "jobledger.claims" -}}
{{- default .Release.Namespace .Values.settings.claim_namespace -}}
{{- end }}

{{- /* Not empty in recorder mode. */}}
{{- define "jobledger.records" -}}
{{- if eq (default "all" .Values.settings.control) "nothing" }}yes{{ end -}}
{{- end }}
