// Answers what KubeRay makes of RayJobs: one case per line of JSON in, one answer per line out.
//
// A case holds a RayJob in Initializing, the objects that are there before it, the batch scheduler
// and the operator's environment. KubeRay's own reconciler runs on a fake API server until the job runs.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
)

const lineBytesMax = 16 << 20

// passesMax is how often a job is looked at: InteractiveMode needs four times until it runs.
const passesMax = 4

// goesOn are the phases after which there is more to be made.
var goesOn = map[rayv1.JobDeploymentStatus]bool{
	rayv1.JobDeploymentStatusInitializing: true,
	rayv1.JobDeploymentStatusWaiting:      true,
	rayv1.JobDeploymentStatusRunning:      true,
}

// settings are the variables that a case may set; all others stay as they are.
var settings = []string{utils.ENABLE_LOGIN_SHELL, utils.ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE}

type question struct {
	ID      string            `json:"id"`
	RayJob  json.RawMessage   `json:"rayJob"`
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Address is that of the head, once its RayCluster is there.
	Address     string            `json:"address"`
	Scheduler   string            `json:"scheduler,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
}

type answer struct {
	ID         string `json:"id"`
	Unreadable string `json:"unreadable,omitempty"`
	// Type and Invalid tell why a RayJob is not valid.
	Type    string `json:"type,omitempty"`
	Invalid string `json:"invalid,omitempty"`
	// Failed is an error that upstream meets again and again.
	Failed  string          `json:"failed,omitempty"`
	Objects []client.Object `json:"objects,omitempty"`
	// PodGroupEnded is the PodGroup after the end, while the RayCluster is there; Gone without it.
	PodGroupEnded *volcano.PodGroupSpec `json:"podGroupEnded,omitempty"`
	PodGroupGone  *volcano.PodGroupSpec `json:"podGroupGone,omitempty"`
	// Submission is what HTTPMode sends to the head.
	Submission       any    `json:"submission,omitempty"`
	SubmissionFailed string `json:"submissionFailed,omitempty"`
}

// operator is as much of a manager as the RayJob controller asks for.
type operator struct {
	manager.Manager
	client   client.Client
	recorder recorder
}

func (o operator) GetClient() client.Client      { return o.client }
func (o operator) GetScheme() *apiruntime.Scheme { return o.client.Scheme() }

// noHead stands for the heads: none answers.
type noHead struct{ utils.ClientProvider }

func (noHead) GetDashboardClient(context.Context, manager.Manager) func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
		return nil, errNoHead
	}
}

var errNoHead = fmt.Errorf("no head is asked")

func main() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	// KubeRay prints to the standard output, which is for answers.
	output := os.Stdout
	os.Stdout = os.Stderr
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = nowhere
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	out := bufio.NewWriter(output)
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

// answered returns what KubeRay makes of one case; a panic of KubeRay is an answer as well.
func answered(asked question) (found answer) {
	found.ID = asked.ID
	defer func() {
		if cause := recover(); cause != nil {
			found.Failed = fmt.Sprint("panic: ", cause)
		}
	}()
	for _, name := range settings {
		os.Setenv(name, asked.Environment[name])
	}
	ctx := context.Background()
	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{clientgoscheme.AddToScheme, rayv1.AddToScheme, volcano.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	job := &rayv1.RayJob{}
	if err := json.Unmarshal(asked.RayJob, job); err != nil {
		found.Unreadable = err.Error()
		return found
	}
	there, err := decoded(scheme, asked.Objects)
	if err != nil {
		found.Unreadable = err.Error()
		return found
	}
	there = append(there, job)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).WithStatusSubresource(there...).Build()
	schedulers, err := batchscheduler.NewSchedulerManager(ctx, configapi.Configuration{BatchScheduler: asked.Scheduler}, &rest.Config{}, c)
	if err != nil {
		panic(err)
	}
	told := newRecorder()
	options := ray.RayJobReconcilerOptions{BatchSchedulerManager: schedulers}
	controller := ray.NewRayJobReconciler(ctx, operator{client: c, recorder: told}, options, noHead{})
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)}
	for passes := 0; passes < passesMax && goesOn[job.Status.JobDeploymentStatus]; passes++ {
		if _, err := controller.Reconcile(ctx, request); err != nil && err != errNoHead {
			found.Failed = err.Error()
			break
		}
		if err := c.Get(ctx, request.NamespacedName, job); err != nil {
			panic(err)
		}
		job.Status.DashboardURL = asked.Address
		if err := c.Status().Update(ctx, job); err != nil {
			panic(err)
		}
	}
	if job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed {
		found.Type, found.Invalid = told.first(), job.Status.Message
		return found
	}
	isOurs := utils.ManagedByExternalController(job.Spec.ManagedBy) == nil
	if isOurs && job.Spec.SubmissionMode == rayv1.HTTPMode && goesOn[job.Status.JobDeploymentStatus] && len(made(ctx, c, nil)) > 0 {
		sent, err := dashboardclient.ConvertRayJobToReq(job)
		if err != nil {
			found.SubmissionFailed = err.Error()
		} else {
			found.Submission = sent
		}
	}
	found.Objects = made(ctx, c, asked.Objects)
	if asked.Scheduler != "" && found.Failed == "" {
		found.PodGroupEnded, found.PodGroupGone = ended(ctx, c, schedulers, job)
	}
	return found
}

// made returns the objects that were not there before.
func made(ctx context.Context, c client.Client, before []json.RawMessage) []client.Object {
	clusters, jobs, services := &rayv1.RayClusterList{}, &batchv1.JobList{}, &corev1.ServiceList{}
	groups := &volcano.PodGroupList{}
	for _, list := range []client.ObjectList{clusters, jobs, services, groups} {
		if err := c.List(ctx, list); err != nil {
			panic(err)
		}
	}
	var all []client.Object
	for i := range clusters.Items {
		if len(before) == 0 {
			all = append(all, named(c, &clusters.Items[i]))
		}
	}
	for i := range jobs.Items {
		all = append(all, named(c, &jobs.Items[i]))
	}
	for i := range services.Items {
		all = append(all, named(c, &services.Items[i]))
	}
	for i := range groups.Items {
		all = append(all, named(c, &groups.Items[i]))
	}
	return all
}

// named returns an object with its kind, and without what only an API server gives it.
func named(c client.Client, object client.Object) client.Object {
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		panic(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	object.SetResourceVersion("")
	return object
}

// ended returns a job's PodGroup after its end, with its RayCluster and without.
func ended(ctx context.Context, c client.Client, schedulers *batchscheduler.SchedulerManager, job *rayv1.RayJob) (with, without *volcano.PodGroupSpec) {
	scheduler, err := schedulers.GetScheduler()
	if err != nil {
		panic(err)
	}
	cluster := &rayv1.RayCluster{}
	name := client.ObjectKey{Namespace: job.Namespace, Name: job.Status.RayClusterName}
	if err := c.Get(ctx, name, cluster); err != nil {
		return nil, nil
	}
	with = cleaned(ctx, c, scheduler.CleanupOnCompletion, job)
	if err := c.Delete(ctx, cluster); err != nil {
		panic(err)
	}
	return with, cleaned(ctx, c, scheduler.CleanupOnCompletion, job)
}

func cleaned(ctx context.Context, c client.Client, clean func(context.Context, metav1.Object) (bool, error), job *rayv1.RayJob) *volcano.PodGroupSpec {
	if _, err := clean(ctx, job); err != nil {
		panic(err)
	}
	groups := &volcano.PodGroupList{}
	if err := c.List(ctx, groups); err != nil {
		panic(err)
	}
	if len(groups.Items) == 0 {
		return nil
	}
	return &groups.Items[0].Spec
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
