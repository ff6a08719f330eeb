{{- /* A CronJob of a command that writes into a volume: dict "root" . "part" "seals" "args" (list …)
"schedule" … "seals" …, "archive" …, "lake" … (claims), "image" …, "secret" … "key" …
"signing" (dict "secret" … "key" …). */}}
{{- define "jobledger.upkeep" -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ include "jobledger.name" .root }}-{{ .part }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "jobledger.labels" . | nindent 4 }}
spec:
  schedule: {{ .schedule | quote }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 600
  jobTemplate:
    spec:
      backoffLimit: 2
      template:
        metadata:
          {{- include "jobledger.podMeta" . | nindent 10 }}
        spec:
          restartPolicy: Never
          automountServiceAccountToken: false
          securityContext:
            {{- include "jobledger.podSecurity" .root | nindent 12 }}
          {{- include "jobledger.placing" . | nindent 10 }}
          containers:
            - name: {{ .part }}
              {{- include "jobledger.containerOf" (dict "root" .root "image" .image) | nindent 14 }}
              args:
                {{- toYaml .args | nindent 16 }}
              env:
                {{- include "jobledger.fromSecret" (dict "name" "DATABASE_URL" "secret" .secret "key" .key) | nindent 16 }}
                - {name: JOBLEDGER_DATA_DIR, value: /tmp/jobledger}
                {{- if .signing.secret }}
                - {name: JOBLEDGER_SEAL_KEY_FILE, value: /etc/jobledger/seal/seal.pem}
                {{- end }}
                {{- if .seals }}
                - {name: JOBLEDGER_SEALS_DIR, value: /seals}
                {{- end }}
                {{- with .root.Values.extraEnv }}
                {{- toYaml . | nindent 16 }}
                {{- end }}
              resources:
                {{- toYaml .root.Values.smallResources | nindent 16 }}
              volumeMounts:
                - {name: tmp, mountPath: /tmp}
                {{- if .seals }}
                - {name: seals, mountPath: /seals}
                {{- end }}
                {{- if .archive }}
                - {name: archive, mountPath: /archive}
                {{- end }}
                {{- if .lake }}
                - {name: lake, mountPath: /lake}
                {{- end }}
                {{- if .signing.secret }}
                - {name: seal-key, mountPath: /etc/jobledger/seal, readOnly: true}
                {{- end }}
                {{- with .root.Values.extraVolumeMounts }}
                {{- toYaml . | nindent 16 }}
                {{- end }}
          volumes:
            {{- include "jobledger.writable" .root | nindent 12 }}
            {{- if .seals }}
            - {name: seals, persistentVolumeClaim: {claimName: {{ .seals }}}}
            {{- end }}
            {{- if .archive }}
            - {name: archive, persistentVolumeClaim: {claimName: {{ .archive }}}}
            {{- end }}
            {{- if .lake }}
            - {name: lake, persistentVolumeClaim: {claimName: {{ .lake }}}}
            {{- end }}
            {{- if .signing.secret }}
            - name: seal-key
              secret:
                secretName: {{ .signing.secret }}
                items: [{key: {{ .signing.key }}, path: seal.pem}]
            {{- end }}
            {{- with .root.Values.extraVolumes }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
{{- end }}
