package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// recorder keeps the reasons of Kubernetes Events: that of the first tells what kind is invalid.
type recorder struct{ reasons *[]string }

func newRecorder() recorder { return recorder{reasons: &[]string{}} }

func (r recorder) first() string { return (*r.reasons)[0] }

// GetEventRecorderFor returns who takes down the Kubernetes Events of a controller.
func (o operator) GetEventRecorderFor(string) record.EventRecorder { return o.recorder }

// Event keeps a reason.
func (r recorder) Event(_ runtime.Object, _, reason, _ string) {
	*r.reasons = append(*r.reasons, reason)
}

// Eventf keeps a reason.
func (r recorder) Eventf(object runtime.Object, kind, reason, _ string, _ ...any) {
	r.Event(object, kind, reason, "")
}

// AnnotatedEventf keeps a reason.
func (r recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, _ string, _ ...any) {
	r.Event(object, kind, reason, "")
}
