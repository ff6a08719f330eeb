// Package suite names what upstream's end-to-end tests need, so that go.sum has it.
package suite

import _ "github.com/ray-project/kuberay/ray-operator/test/support"
