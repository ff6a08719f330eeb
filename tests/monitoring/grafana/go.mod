// Grafana's own types of dashboards, made from its schemas; only tests/monitoring/test_dashboards.py
// uses them. A new release: change the version below and run `go mod tidy`.
module jobledger/tests/monitoring/grafana

go 1.26.0

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
