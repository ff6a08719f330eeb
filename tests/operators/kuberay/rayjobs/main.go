// KubeRay's RayJob controller without its others: what it does for RayJobs is upstream's, unchanged.
// `make bench ARGS=rayjobs` measures it beside ours, with a load that plays the RayClusters.
package main

import (
	"flag"
	"log"

	routev1 "github.com/openshift/api/route/v1"
	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"go.uber.org/zap/zapcore"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	probes := flag.String("health-probe-bind-address", "", "where /readyz is served")
	workers := flag.Int("workers", 16, "RayJobs that are reconciled at once")
	scheduler := flag.String("batch-scheduler", "", "whose PodGroups and labels are made")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel)))

	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, rayv1.AddToScheme, routev1.Install, configapi.AddToScheme,
	} {
		must(add(known))
	}
	ours := labels.SelectorFromSet(labels.Set{utils.KubernetesCreatedByLabelKey: utils.ComponentName})
	where := ctrl.GetConfigOrDie()
	where.QPS = -1 // no limit of the client's own
	manager, err := ctrl.NewManager(where, ctrl.Options{
		Scheme:                 known,
		HealthProbeBindAddress: *probes,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		Cache:                  cache.Options{ByObject: map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: ours}}},
	})
	must(err)
	ctx := ctrl.SetupSignalHandler()
	config := configapi.Configuration{BatchScheduler: *scheduler}
	schedulers, err := batchscheduler.NewSchedulerManager(ctx, config, where, manager.GetClient())
	must(err)
	schedulers.AddToScheme(known)
	options := ray.RayJobReconcilerOptions{BatchSchedulerManager: schedulers}
	must(ray.NewRayJobReconciler(ctx, manager, options, config).SetupWithManager(manager, *workers))
	must(manager.AddReadyzCheck("readyz", healthz.Ping))
	must(manager.Start(ctx))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
