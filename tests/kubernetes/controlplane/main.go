// Command controlplane runs etcd, kube-apiserver, kube-scheduler and
// kube-controller-manager (and, if asked, a fake kubelet) in one process, for
// tests. State lives in one directory; it listens on 127.0.0.1 only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Without kubelets there is no heartbeat, and without heartbeats the node
// lifecycle controller taints every node and evicts its pods. With it off,
// nobody takes back the taint that TaintNodesByCondition puts on new nodes.
const (
	quietControllers = "*,-node-lifecycle-controller,-horizontal-pod-autoscaler-controller,-persistentvolume-attach-detach-controller,-persistentvolume-expander-controller,-service-cidr-controller,-ttl-controller"
	quietAdmission   = "TaintNodesByCondition"
)

type repeated []string

func (r *repeated) String() string     { return strings.Join(*r, " ") }
func (r *repeated) Set(s string) error { *r = append(*r, s); return nil }

type config struct {
	dir              string
	port             int
	featureGates     string
	runtimeConfig    string
	disableAdmission string
	enableAdmission  string
	controllers      string
	podProxy         string
	noScheduler      bool
	noControllers    bool
	fakeKubelet      bool
	heartbeat        time.Duration
	dieWithParent    bool
	stopOnEOF        bool
	verbosity        int
	qps              float64
	apiFlags         repeated
	schedulerFlags   repeated
	controllerFlags  repeated
}

func parseFlags() *config {
	var c config
	flag.StringVar(&c.dir, "dir", "", "data directory (created; default: a new temporary one)")
	flag.IntVar(&c.port, "port", 0, "port on 127.0.0.1 (0: a free one)")
	flag.StringVar(&c.featureGates, "feature-gates", "", "feature gates, as the components take them")
	flag.StringVar(&c.runtimeConfig, "runtime-config", "", "API groups and versions to switch on")
	flag.StringVar(&c.disableAdmission, "disable-admission-plugins", quietAdmission, "as kube-apiserver takes it")
	flag.StringVar(&c.enableAdmission, "enable-admission-plugins", "", "as kube-apiserver takes it")
	flag.StringVar(&c.controllers, "controllers", quietControllers, "as kube-controller-manager takes it")
	flag.StringVar(&c.podProxy, "pod-proxy", "", "unix socket of an HTTP CONNECT proxy through which pods and kubelets are reached")
	flag.BoolVar(&c.noScheduler, "no-scheduler", false, "leave the scheduler out")
	flag.BoolVar(&c.noControllers, "no-controller-manager", false, "leave the controller manager out")
	flag.BoolVar(&c.fakeKubelet, "fake-kubelet", false, "act as every node's kubelet")
	flag.DurationVar(&c.heartbeat, "heartbeat", 0, "with -fake-kubelet: renew each node's Lease this often (0: never)")
	flag.BoolVar(&c.dieWithParent, "die-with-parent", true, "stop when the parent process ends")
	flag.BoolVar(&c.stopOnEOF, "stop-on-stdin-eof", false, "stop when standard input closes")
	flag.IntVar(&c.verbosity, "v", 0, "log verbosity")
	flag.Float64Var(&c.qps, "qps", 500, "requests a second that scheduler and controller manager may send")
	flag.Var(&c.apiFlags, "apiserver-flag", "further kube-apiserver flag (repeatable)")
	flag.Var(&c.schedulerFlags, "scheduler-flag", "further kube-scheduler flag (repeatable)")
	flag.Var(&c.controllerFlags, "controller-manager-flag", "further kube-controller-manager flag (repeatable)")
	flag.Parse()
	return &c
}

// userStderr is the standard error the process was started with: the
// components' own log goes to a file.
var userStderr = os.Stderr

var errStopped = errors.New("asked to stop")

func main() {
	c := parseFlags()
	if err := run(c); err != nil {
		fmt.Fprintln(userStderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(c *config) error {
	began := time.Now()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
	ctx, cancel := untilStopped(c)
	defer cancel(nil)
	tidy, err := prepareDirectory(c)
	if err != nil {
		return err
	}
	defer tidy()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
	if err != nil {
		return err
	}
	c.port = listener.Addr().(*net.TCPAddr).Port
	if err := divertLog(filepath.Join(c.dir, "controlplane.log")); err != nil {
		return err
	}
	creds, err := writeCredentials(c.dir, c.port)
	if err != nil {
		return err
	}
	parts := &components{config: c, creds: creds, fail: cancel}
	defer parts.stop()
	if err := parts.start(ctx, listener); err != nil {
		return err
	}
	fmt.Printf("ready port=%d kubeconfig=%s seconds=%.2f\n", c.port, creds.adminKubeconfig, time.Since(began).Seconds())
	<-ctx.Done()
	if why := context.Cause(ctx); !errors.Is(why, errStopped) {
		return why
	}
	return nil
}

// untilStopped gives a context that ends by a signal, with the parent process
// or with standard input; the cancel function takes the reason of a failure.
func untilStopped(c *config) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { <-signals; cancel(errStopped) }()
	if c.dieWithParent {
		go func() { waitForParent(); cancel(errStopped) }()
	}
	if c.stopOnEOF {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel(errStopped) }()
	}
	return ctx, cancel
}

// waitForParent returns when the process that started this one is gone; never
// if there is none to lose.
func waitForParent() {
	parent := os.Getppid()
	if parent == 1 {
		select {}
	}
	for os.Getppid() == parent {
		time.Sleep(250 * time.Millisecond)
	}
}

func prepareDirectory(c *config) (tidy func(), err error) {
	tidy = func() {}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "controlplane-"); err != nil {
			return tidy, err
		}
		tidy = func() { os.RemoveAll(c.dir) }
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return tidy, err
	}
	return tidy, os.MkdirAll(c.dir, 0o700)
}

// divertLog sends standard error, where the components log, to a file.
func divertLog(name string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fd, err := syscall.Dup(2)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(fd)
	userStderr = os.NewFile(uintptr(fd), "stderr")
	return syscall.Dup3(int(file.Fd()), 2, 0)
}

// components are the goroutines of one control plane. The API server is
// stopped last, so that the others can say good-bye.
type components struct {
	config *config
	creds  *credentials
	fail   context.CancelCauseFunc
	wg     sync.WaitGroup

	stopClients, stopAPIServer context.CancelFunc
}

func (p *components) start(ctx context.Context, listener net.Listener) error {
	etcdURL, err := startEtcd(p.config.dir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	apiCtx, stopAPIServer := context.WithCancel(context.Background())
	clientCtx, stopClients := context.WithCancel(context.Background())
	p.stopAPIServer, p.stopClients = stopAPIServer, stopClients
	if err := p.startAPIServer(apiCtx, listener, etcdURL); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", p.creds.adminKubeconfig)
	if err != nil {
		return err
	}
	if err := waitFor(ctx, admin, "/readyz"); err != nil {
		return err
	}
	if !p.config.noControllers {
		if err := p.startControllerManager(clientCtx); err != nil {
			return fmt.Errorf("kube-controller-manager: %w", err)
		}
	}
	if !p.config.noScheduler {
		if err := p.startScheduler(clientCtx); err != nil {
			return fmt.Errorf("kube-scheduler: %w", err)
		}
	}
	if p.config.fakeKubelet {
		if err := startFakeKubelet(clientCtx, rest.CopyConfig(admin), p.config.heartbeat); err != nil {
			return fmt.Errorf("fake kubelet: %w", err)
		}
	}
	if p.config.noControllers {
		return nil
	}
	// Pods can be made once the controller manager has made this account.
	return waitFor(ctx, admin, "/api/v1/namespaces/default/serviceaccounts/default")
}

// stop ends all components; etcd's files need no orderly end, since its log is
// replayed at the next start.
func (p *components) stop() {
	if p.stopClients == nil {
		return
	}
	p.stopClients()
	p.stopAPIServer()
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
	}
}

// run keeps a component going; its failure ends the process with that reason.
func (p *components) run(ctx context.Context, name string, component func() error) {
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		if err := component(); err != nil && ctx.Err() == nil {
			p.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
}
