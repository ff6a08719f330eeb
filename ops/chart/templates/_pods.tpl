{{- /* What Pod security calls restricted. */}}
{{- define "jobledger.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "jobledger.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* What every Pod of ours says of itself; dict "root" . "part" "controller". */}}
{{- define "jobledger.podMeta" -}}
labels:
  {{- include "jobledger.selector" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Without links of Services: JOBLEDGER_PORT would be the address of the Service jobledger. */}}
{{- define "jobledger.placing" -}}
{{- $values := .root.Values -}}
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "jobledger.spread" -}}
topologySpreadConstraints:
{{- if .root.Values.topologySpreadConstraints }}
  {{- toYaml .root.Values.topologySpreadConstraints | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "jobledger.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{- define "jobledger.container" -}}
{{ include "jobledger.containerOf" (dict "root" . "image" "") }}
{{- end }}

{{- /* The same of another image; dict "root" . "image" "", which is the chart's own. */}}
{{- define "jobledger.containerOf" -}}
image: {{ .image | default (include "jobledger.image" .root) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "jobledger.containerSecurity" .root | nindent 2 }}
{{- end }}

{{- /* One environment variable from a Secret; dict "name" … "secret" … "key" …. */}}
{{- define "jobledger.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}
{{- end }}

{{- /* The settings as environment variables: texts as they are, all else as JSON. */}}
{{- define "jobledger.settings" -}}
{{- $computed := dict "claim_namespace" (include "jobledger.claims" .) -}}
{{- if .Values.trainerStatus.enabled -}}
{{- $name := printf "%s-trainer-status" (include "jobledger.name" .) -}}
{{- $_ := set $computed "trainer_status_url" (printf "https://%s.%s.svc:10443" $name .Release.Namespace) -}}
{{- $_ := set $computed "trainer_status_authority" (printf "%s/%s-ca" .Release.Namespace $name) -}}
{{- end -}}
{{- range $name, $value := merge (deepCopy .Values.settings) $computed }}
{{- if not (kindIs "invalid" $value) }}
- name: JOBLEDGER_{{ upper $name }}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "jobledger.writable" -}}
- {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
{{- end }}
