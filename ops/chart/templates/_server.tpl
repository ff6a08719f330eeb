{{- /* The objects of a file of ops/ that has a server of its own, under the names of this release:
dict "root" . "file" "files/webhooks.yaml" "part" "webhooks" "without" (list kinds) "annotations" {}. */}}
{{- define "jobledger.objectsOf" -}}
{{- $name := include "jobledger.name" .root -}}
{{- $text := .root.Files.Get .file -}}
{{- $text = $text | replace (printf "jobledger-%s" .part) (printf "%s-%s" $name .part) -}}
{{- $text = regexReplaceAllLiteral "namespace: jobledger\\b" $text (printf "namespace: %s" .root.Release.Namespace) -}}
{{- $text = regexReplaceAllLiteral "(?m)^  name: jobledger$" $text (printf "  name: %s" $name) -}}
{{- $text = $text | replace "resourceNames: [jobledger]" (printf "resourceNames: [%s]" $name) -}}
{{- $labels := include "jobledger.labels" (dict "root" .root "part" .part) | fromYaml -}}
{{- $without := .without -}}
{{- $annotations := .annotations -}}
{{- range $one := regexSplit "(?m)^---$" $text -1 }}
{{- $document := fromYaml $one }}
{{- if not (has $document.kind $without) }}
{{- $_ := set $document.metadata "labels" (merge $document.metadata.labels $labels) }}
{{- if and $annotations (contains "WebhookConfiguration" $document.kind) }}
{{- $_ := set $document.metadata "annotations" $annotations }}
{{- end }}
{{- if eq $document.kind "Service" }}
{{- $_ := set $document.spec "selector" (include "jobledger.selector" (dict "root" $.root "part" $.part) | fromYaml) }}
{{- end }}
---
{{ toYaml $document }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Its Deployment and budget:
dict "root" . "part" … "args" (list …) "port" 9443 "replicas" 2 "certificates" "name of a Secret, or empty". */}}
{{- define "jobledger.server" -}}
{{- $full := printf "%s-%s" (include "jobledger.name" .root) .part -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $full }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "jobledger.labels" . | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  selector:
    matchLabels:
      {{- include "jobledger.selector" . | nindent 6 }}
  template:
    metadata:
      {{- include "jobledger.podMeta" . | nindent 6 }}
    spec:
      serviceAccountName: {{ $full }}
      securityContext:
        {{- include "jobledger.podSecurity" .root | nindent 8 }}
      {{- include "jobledger.placing" . | nindent 6 }}
      {{- include "jobledger.spread" . | nindent 6 }}
      containers:
        - name: {{ .part }}
          {{- include "jobledger.container" .root | nindent 10 }}
          args:
            {{- toYaml (concat .args (list "--host" .root.Values.host)) | nindent 12 }}
          env:
            - {name: JOBLEDGER_DATA_DIR, value: /tmp/jobledger}
            - {name: JOBLEDGER_LOG_FORMAT, value: {{ default "json" .root.Values.settings.log_format }}}
            {{- with .root.Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: https, containerPort: {{ .port }}}
          livenessProbe:
            tcpSocket: {port: https}
            initialDelaySeconds: 20
          readinessProbe:
            {{- if eq .part "webhooks" }}
            httpGet: {path: /healthz, port: https, scheme: HTTPS}
            {{- else }}
            tcpSocket: {port: https}
            {{- end }}
            periodSeconds: 5
          resources:
            {{- toYaml .root.Values.smallResources | nindent 12 }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- if .certificates }}
            - {name: certificates, mountPath: /etc/jobledger/tls, readOnly: true}
            {{- end }}
      volumes:
        {{- include "jobledger.writable" .root | nindent 8 }}
        {{- if .certificates }}
        - {name: certificates, secret: {secretName: {{ .certificates }}}}
        {{- end }}
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $full }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "jobledger.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "jobledger.selector" . | nindent 6 }}
{{- end }}
{{- end }}
