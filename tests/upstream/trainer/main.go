// Answers what Trainer makes of TrainJobs: one case per line of JSON in, one answer per line out.
//
// A case holds a TrainJob and the objects that are there before it: runtimes, ConfigMaps, JobSets.
// Trainer's own runtimes validate it, build its objects, and tell its status from a JobSet.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/features"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	utiltesting "github.com/kubeflow/trainer/v2/pkg/util/testing"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"
)

const lineBytesMax = 16 << 20

type question struct {
	ID       string            `json:"id"`
	TrainJob json.RawMessage   `json:"trainJob"`
	Old      json.RawMessage   `json:"old,omitempty"`
	Objects  []json.RawMessage `json:"objects"`
	Status   bool              `json:"status,omitempty"`
	// StatusServer switches on the feature whose server Pods report their progress to.
	StatusServer bool `json:"statusServer,omitempty"`
}

type answer struct {
	ID             string                  `json:"id"`
	Unreadable     string                  `json:"unreadable,omitempty"`
	Warnings       []string                `json:"warnings,omitempty"`
	RuntimeInvalid string                  `json:"runtimeInvalid,omitempty"`
	Invalid        []string                `json:"invalid,omitempty"`
	BuildFailed    string                  `json:"buildFailed,omitempty"`
	Objects        []any                   `json:"objects,omitempty"`
	StatusError    string                  `json:"statusError,omitempty"`
	Status         *trainer.TrainJobStatus `json:"status,omitempty"`
}

func main() {
	log.SetLogger(logr.Discard())
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, "not a case:", err)
			os.Exit(2)
		}
		if err := answers.Encode(answered(asked)); err != nil {
			fmt.Fprintln(os.Stderr, "an answer cannot be written:", err)
			os.Exit(1)
		}
		out.Flush()
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "cases cannot be read:", err)
		os.Exit(1)
	}
}

// answered returns what Trainer makes of one case; a panic of Trainer is an answer as well.
func answered(asked question) (found answer) {
	found.ID = asked.ID
	defer func() {
		if cause := recover(); cause != nil {
			found.BuildFailed = fmt.Sprint("panic: ", cause)
		}
	}()
	ctx := context.Background()
	builder := utiltesting.NewClientBuilder()
	scheme := utiltesting.NewClientBuilder().Build().Scheme()
	job, old := &trainer.TrainJob{}, (*trainer.TrainJob)(nil)
	if err := json.Unmarshal(asked.TrainJob, job); err != nil {
		found.Unreadable = err.Error()
		return found
	}
	if len(asked.Old) > 0 {
		old = &trainer.TrainJob{}
		if err := json.Unmarshal(asked.Old, old); err != nil {
			found.Unreadable = err.Error()
			return found
		}
	}
	there, err := decoded(scheme, asked.Objects)
	if err != nil {
		found.Unreadable = err.Error()
		return found
	}
	there = append(there, job.DeepCopy())
	builder = builder.WithObjects(there...).WithStatusSubresource(there...)
	c := builder.Build()
	if err := features.SetEnable(features.TrainJobStatus, asked.StatusServer); err != nil {
		panic(err)
	}
	runtimes, err := core.New(ctx, c, utiltesting.AsIndex(builder), configured())
	if err != nil {
		panic(err)
	}
	key := runtime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)
	chosen, ok := runtimes[key]
	if !ok {
		found.BuildFailed = fmt.Sprintf("unsupported runtime: %s", key)
		return found
	}
	if err := refusedRuntime(ctx, there); err != nil {
		found.RuntimeInvalid = err.Error()
	}
	warnings, problems := chosen.ValidateObjects(ctx, old, job)
	found.Warnings = warnings
	for _, problem := range problems {
		found.Invalid = append(found.Invalid, problem.Error())
	}
	if asked.Status {
		found.Status, err = chosen.TrainJobStatus(ctx, job)
		if err != nil {
			found.StatusError = err.Error()
		}
	}
	built, err := chosen.NewObjects(ctx, job)
	if err != nil {
		found.BuildFailed = err.Error()
		return found
	}
	for _, object := range built {
		found.Objects = append(found.Objects, object)
	}
	return found
}

// configured returns the settings of a Trainer that nobody has configured.
func configured() *configapi.Configuration {
	settings := &configapi.Configuration{}
	configapi.SetDefaults_Configuration(settings)
	return settings
}

// refusedRuntime returns what Trainer's webhooks have against the runtimes of a case.
func refusedRuntime(ctx context.Context, there []client.Object) error {
	for _, object := range there {
		var err error
		switch runtime := object.(type) {
		case *trainer.TrainingRuntime:
			_, err = (&webhooks.TrainingRuntimeValidator{}).ValidateCreate(ctx, runtime)
		case *trainer.ClusterTrainingRuntime:
			_, err = (&webhooks.ClusterTrainingRuntimeValidator{}).ValidateCreate(ctx, runtime)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decoded(scheme *apiruntime.Scheme, raws []json.RawMessage) ([]client.Object, error) {
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var all []client.Object
	for _, raw := range raws {
		object, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, object.(client.Object))
	}
	return all, nil
}
