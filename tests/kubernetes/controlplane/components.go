package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	apiserverapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controlleroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// The components' own commands cannot share a process: each installs the
// signal handler of the apiserver library, which panics the second time. So
// their steps are called one by one: options, flags, completion, run.

// startAPIServer also sets the feature gates, which the whole process shares.
func (p *components) startAPIServer(ctx context.Context, listener net.Listener, etcdURL string) error {
	args, err := p.apiServerFlags(etcdURL)
	if err != nil {
		return err
	}
	options := apiserveroptions.NewServerRunOptions()
	if err := parse(options.Flags(), append(args, p.config.apiFlags...)); err != nil {
		return err
	}
	options.SecureServing.Listener = listener
	if err := options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	logging := logsapi.NewLoggingConfiguration()
	logging.Verbosity = logsapi.VerbosityLevel(p.config.verbosity)
	if err := logsapi.ValidateAndApply(logging, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := options.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("options: %v", errs)
	}
	p.run(ctx, "kube-apiserver", func() error { return apiserverapp.Run(ctx, completed) })
	return nil
}

func (p *components) apiServerFlags(etcdURL string) ([]string, error) {
	c := p.config
	args := []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port),
		"--advertise-address=127.0.0.1",
		// Otherwise it refuses to publish a loopback address as its own.
		"--endpoint-reconciler-type=none",
		"--etcd-servers=" + etcdURL,
		"--cert-dir=" + c.dir,
		"--tls-cert-file=" + p.creds.serverCert,
		"--tls-private-key-file=" + p.creds.serverKey,
		"--client-ca-file=" + p.creds.ca,
		"--token-auth-file=" + p.creds.tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + p.creds.saKey,
		"--service-account-key-file=" + p.creds.saPub,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--profiling=false",
		"--shutdown-delay-duration=0s",
	}
	for name, value := range map[string]string{
		"feature-gates":             c.featureGates,
		"runtime-config":            c.runtimeConfig,
		"disable-admission-plugins": c.disableAdmission,
		"enable-admission-plugins":  c.enableAdmission,
	} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	if c.podProxy == "" {
		return args, nil
	}
	file, err := writeEgress(c.dir, c.podProxy)
	return append(args, "--egress-selector-config-file="+file), err
}

// writeEgress makes the API server reach pods and kubelets through an HTTP
// CONNECT proxy on a unix socket. Its pod proxy refuses loopback addresses, so
// pods that a test serves have addresses that lead nowhere but there.
func writeEgress(dir, socket string) (string, error) {
	file := filepath.Join(dir, "egress.yaml")
	return file, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %q
`, socket), 0o600)
}

func (p *components) startControllerManager(ctx context.Context) error {
	args := append(p.clientFlags(p.creds.controllersKubeconfig),
		// Without it the one user lacks rights that several controllers need.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+p.creds.saKey,
		"--root-ca-file="+p.creds.ca,
		"--cluster-signing-cert-file="+p.creds.ca,
		"--cluster-signing-key-file="+p.creds.caKey,
		"--controllers="+p.config.controllers,
		"--min-resync-period=12h",
		"--concurrent-resource-quota-syncs=2",
		"--controller-start-interval=0s",
	)
	options, err := controlleroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, off, aliases := controllerapp.KnownControllers(), controllerapp.ControllersDisabledByDefault(), controllerapp.ControllerAliases()
	flags := options.Flags(known, off, aliases)
	options.ParsedFlags = &flags
	if err := parse(flags, append(args, p.config.controllerFlags...)); err != nil {
		return err
	}
	config, err := options.Config(ctx, known, off, aliases)
	if err != nil {
		return err
	}
	p.run(ctx, "kube-controller-manager", func() error { return controllerapp.Run(ctx, config.Complete()) })
	return nil
}

func (p *components) startScheduler(ctx context.Context) error {
	options := scheduleroptions.NewOptions()
	args := append(p.clientFlags(p.creds.schedulerKubeconfig), p.config.schedulerFlags...)
	if err := parse(*options.Flags, args); err != nil {
		return err
	}
	config, scheduler, err := schedulerapp.Setup(ctx, options)
	if err != nil {
		return err
	}
	p.run(ctx, "kube-scheduler", func() error { return schedulerapp.Run(ctx, config, scheduler) })
	return nil
}

// clientFlags are those of a component that listens nowhere and is alone.
func (p *components) clientFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		fmt.Sprintf("--kube-api-qps=%g", p.config.qps),
		fmt.Sprintf("--kube-api-burst=%d", int(p.config.qps*2)),
	}
}

// parse sets the named flag sets of one component from args.
func parse(sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range sets.FlagSets {
		all.AddFlagSet(set)
	}
	return all.Parse(args)
}

// waitFor polls a path of the API server until it answers 200, for a minute.
func waitFor(ctx context.Context, config *rest.Config, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s did not answer 200 within a minute", path))
	defer cancel()
	short := rest.CopyConfig(config)
	short.Timeout = 2 * time.Second
	client, err := rest.HTTPClientFor(short)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for {
		if answer, err := client.Get(config.Host + path); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(25 * time.Millisecond):
		}
	}
}
