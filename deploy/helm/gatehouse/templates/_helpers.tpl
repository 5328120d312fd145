{{- define "gatehouse.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gatehouse.labels" -}}
{{ include "gatehouse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gatehouse.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "gatehouse.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "gatehouse.name" .) }}
{{- end }}

{{- /* The path of the issuer, without a slash at its end. */}}
{{- define "gatehouse.path" -}}
{{- (urlParse .Values.issuer).path | trimSuffix "/" }}
{{- end }}

{{- /* The settings that are secrets: each with the name of its Secret and of the key. */}}
{{- define "gatehouse.secrets" -}}
{{- $all := dict "DATABASE_URL" .Values.database "SECRET_KEY" .Values.secretKey "ADMIN_PASSWORD" .Values.adminPassword "SMTP_URL" .Values.smtp }}
{{- range $name, $from := merge (dict) .Values.secretSettings $all }}
{{- if $from.secret }}
{{ $name }}: { secret: {{ $from.secret | quote }}, key: {{ $from.key | quote }} }
{{- end }}
{{- end }}
{{- end }}
