// Whose definitions the chart's objects are held against; nothing is built of them. A new release:
// change the version below and run `go mod download`.
module jobledger/tests/chart/definitions

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
