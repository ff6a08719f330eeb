// Runs KubeRay's RayCluster controller, and no other: its RayJob controller's place is taken.
//
// Upstream's packages are used as they are; what is set up here is what its own main does for
// RayClusters. Needs KUBECONFIG.
package main

import (
	"flag"
	"os"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	_ "github.com/ray-project/kuberay/ray-operator/pkg/features"
)

const atOnce = 4

func main() {
	gates := flag.String("feature-gates", "", "as upstream's operator takes them")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.Level(zapcore.InfoLevel)))
	must(utilfeature.DefaultMutableFeatureGate.Set(*gates))

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(rayv1.AddToScheme(scheme))

	context, config := ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	must(err)
	scheduler, err := batchscheduler.NewSchedulerManager(
		context, configapi.Configuration{}, config, manager.GetClient())
	must(err)
	scheduler.AddToScheme(manager.GetScheme())
	options := ray.RayClusterReconcilerOptions{BatchSchedulerManager: scheduler}
	must(ray.NewReconciler(context, manager, options).SetupWithManager(manager, atOnce))
	must(manager.Start(context))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}
