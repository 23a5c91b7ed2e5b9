package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	startWithin = 5 * time.Minute
	pollEvery   = 100 * time.Millisecond
)

// A program runs beside etcd and the API server.
type program struct {
	command *exec.Cmd
	ended   chan struct{}
}

func init() {
	add("start PROGRAM ARGUMENT...", "starts kube-scheduler, kube-controller-manager or kueue with further arguments, or etcd or kube-apiserver after kill; answers when it is healthy",
		func(c *cluster, words []string) (any, error) { return nil, c.start(words[0], words[1:]) })
	add("kill PROGRAM", "kills a program at once", func(c *cluster, words []string) (any, error) { return nil, c.kill(words[0]) })
}

// path returns the file of a program. Programs of another version of Kubernetes than the newest have it in their names.
func (c *cluster) path(program string) string {
	if c.version != "" && strings.HasPrefix(program, "kube-") {
		program += "-" + c.version
	}
	return filepath.Join(c.programs, program)
}

// prepareControl tells envtest the programs of etcd and the API server, and directories that remain when they are killed.
func (c *cluster) prepareControl() error {
	server := c.control.ControlPlane.GetAPIServer()
	server.Path = c.path("kube-apiserver")
	server.CertDir = filepath.Join(c.directory, "certificates")
	server.Configure().Set("authorization-mode", "RBAC")
	etcd := &envtest.Etcd{Path: c.path("etcd"), DataDir: filepath.Join(c.directory, "etcd")}
	c.control.ControlPlane.Etcd = etcd
	for program, writer := range map[string]*io.Writer{"kube-apiserver": &server.Err, "etcd": &etcd.Err} {
		file, err := c.errorsOf(program)
		if err != nil {
			return err
		}
		*writer = file
	}
	return errors.Join(os.MkdirAll(server.CertDir, 0o700), os.MkdirAll(etcd.DataDir, 0o700))
}

// errorsOf opens the file for the errors of a program.
func (c *cluster) errorsOf(program string) (*os.File, error) {
	return os.OpenFile(filepath.Join(c.directory, program+".err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// start starts a program, and returns when it is healthy.
func (c *cluster) start(name string, further []string) error {
	switch name {
	case "etcd":
		return c.control.ControlPlane.Etcd.Start()
	case "kube-apiserver":
		return c.control.ControlPlane.APIServer.Start()
	case "kube-scheduler", "kube-controller-manager":
		return c.startKube(name, further)
	case "kueue":
		return c.startKueue(further)
	}
	return errors.New("the program is unknown")
}

// startKube starts the scheduler or the controller manager with the rights that Kubernetes gives to them.
func (c *cluster) startKube(name string, further []string) error {
	kubeconfig, err := c.kubeconfig(name, "system:"+name)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	certificates := c.control.ControlPlane.APIServer.CertDir
	arguments := []string{"--kubeconfig=" + kubeconfig, "--authentication-skip-lookup", "--leader-elect=false", "--bind-address=127.0.0.1",
		"--secure-port=" + port, "--cert-dir=" + filepath.Join(c.directory, name), "--kube-api-qps=500", "--kube-api-burst=1000"}
	if name == "kube-controller-manager" {
		arguments = append(arguments, "--use-service-account-credentials", "--root-ca-file="+filepath.Join(certificates, "apiserver.crt"),
			"--service-account-private-key-file="+filepath.Join(certificates, "sa-signer.key"))
	}
	if err := c.begin(name, append(arguments, further...)); err != nil {
		return err
	}
	return c.waitUntilHealthy(name, "https://127.0.0.1:"+port+"/healthz")
}

// begin begins a program.
func (c *cluster) begin(name string, arguments []string) error {
	if c.running[name] != nil {
		return errors.New("the program runs already")
	}
	file, err := c.errorsOf(name)
	if err != nil {
		return err
	}
	defer file.Close()
	p := &program{command: exec.Command(c.path(name), arguments...), ended: make(chan struct{})}
	p.command.Stdout = file
	p.command.Stderr = file
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return err
	}
	go func() {
		p.command.Wait()
		close(p.ended)
	}()
	c.running[name] = p
	return nil
}

// waitUntilHealthy waits until a program answers that it is healthy.
func (c *cluster) waitUntilHealthy(name, url string) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for giveUp := time.Now().Add(startWithin); time.Now().Before(giveUp); {
		if answer, err := client.Get(url); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-c.running[name].ended:
			return fmt.Errorf("%s ended: %s", name, c.running[name].command.ProcessState)
		case <-time.After(pollEvery):
		}
	}
	return fmt.Errorf("%s is not healthy", name)
}

// kubeconfig writes a kubeconfig of a user.
func (c *cluster) kubeconfig(name, user string, groups ...string) (string, error) {
	account, err := c.control.AddUser(envtest.User{Name: user, Groups: groups}, nil)
	if err != nil {
		return "", err
	}
	text, err := account.KubeConfig()
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.directory, name+".kubeconfig")
	return path, os.WriteFile(path, text, 0o600)
}

// freePort returns a port that no program listens on.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// kill kills a program, and returns when it has ended.
func (c *cluster) kill(name string) error {
	if p := c.running[name]; p != nil {
		delete(c.running, name)
		if err := p.command.Process.Kill(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		<-p.ended
		return nil
	}
	children, err := childrenOf(os.Getpid(), c.path(name))
	if err != nil {
		return err
	}
	if len(children) != 1 {
		return fmt.Errorf("%d processes run the program", len(children))
	}
	if err := syscall.Kill(children[0], syscall.SIGKILL); err != nil {
		return err
	}
	for len(children) > 0 && err == nil {
		time.Sleep(time.Millisecond)
		children, err = childrenOf(os.Getpid(), c.path(name))
	}
	return err
}

// childrenOf returns the children of a process that run the program at path. Envtest starts etcd and the API server, and
// does not tell their processes.
func childrenOf(parent int, path string) ([]int, error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	children := []int{}
	for _, link := range links {
		directory := filepath.Dir(link)
		file, err := os.Readlink(link)
		if err != nil || file != path {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(directory, "stat"))
		if err != nil {
			continue // It has ended.
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		child, err := strconv.Atoi(filepath.Base(directory))
		if err != nil {
			return nil, err
		}
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			children = append(children, child)
		}
	}
	return children, nil
}

// stopPrograms kills the programs that run beside etcd and the API server. It fails if one has ended before.
func (c *cluster) stopPrograms() error {
	var failures error
	for name := range c.running {
		failures = errors.Join(failures, c.kill(name))
	}
	return failures
}
