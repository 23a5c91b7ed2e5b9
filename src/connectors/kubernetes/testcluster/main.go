// Testcluster is a control plane for a test: etcd and an API server, and other programs of a control plane when it is
// told to start them. It does the work of kubelets, and of a scheduler that is not started. It reads commands from its
// standard input, one a line, and answers each with one line of JSON. Each file of the package adds its commands. The
// command help lists them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logs "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace = "yquota"
	name      = "yquota"
	liveIn    = "lab"
)

func main() {
	c := &cluster{ctx: context.Background(), running: map[string]*program{}}
	flag.StringVar(&c.programs, "programs", "", "`directory` of the programs")
	flag.StringVar(&c.version, "version", "", "`version` of Kubernetes in the names of its programs, unless it is the newest")
	flag.StringVar(&c.deploy, "deploy", "", "`directory` of the manifests")
	flag.StringVar(&c.directory, "directory", "", "`directory` for kubeconfigs, data and errors of programs")
	flag.Parse()
	logs.SetLogger(klog.Background())
	if err := c.run(); err != nil {
		log.Fatal(err)
	}
}

// A cluster is a control plane and its clients, which have all rights.
type cluster struct {
	programs, version, deploy, directory string

	ctx     context.Context
	control *envtest.Environment
	client  kubernetes.Interface
	dynamic dynamic.Interface
	objects client.Client
	// programs that run beside etcd and the API server
	running  map[string]*program
	kubelets kubelets
}

// A command is a function that answers the words after its name.
type command struct {
	arguments   []string
	description string
	function    func(*cluster, []string) (any, error)
}

var commands = map[string]command{}

// add adds a command. Usage is its name and the names of its arguments. A last argument that ends with ... stands for
// any number of arguments.
func add(usage, description string, function func(*cluster, []string) (any, error)) {
	words := strings.Fields(usage)
	commands[words[0]] = command{arguments: words[1:], description: description, function: function}
}

func init() {
	add("help", "answers the commands", func(*cluster, []string) (any, error) {
		lines := []string{}
		for name, command := range commands {
			lines = append(lines, strings.Join(append([]string{name}, command.arguments...), " ")+": "+command.description)
		}
		slices.Sort(lines)
		return lines, nil
	})
	add("try COMMAND...", "carries out a command, and answers its failure, or null", func(c *cluster, words []string) (any, error) {
		if _, err := c.do(words); err != nil {
			return err.Error(), nil
		}
		return nil, nil
	})
}

func (c *cluster) do(words []string) (any, error) {
	if len(words) == 0 {
		return nil, errors.New("a command is missing")
	}
	command, ok := commands[words[0]]
	if !ok {
		return nil, errors.New("the command is unknown")
	}
	wanted, found := len(command.arguments), len(words)-1
	if wanted > 0 && strings.HasSuffix(command.arguments[wanted-1], "...") {
		found = min(found, wanted)
		wanted = max(wanted-1, found)
	}
	if found != wanted {
		return nil, fmt.Errorf("the arguments are %s", strings.Join(command.arguments, " "))
	}
	return command.function(c, words[1:])
}

// run starts the control plane, applies the manifests, and obeys.
func (c *cluster) run() (err error) {
	c.control = &envtest.Environment{ControlPlaneStartTimeout: startWithin, ControlPlaneStopTimeout: time.Minute}
	if err := c.prepareControl(); err != nil {
		return err
	}
	config, err := c.control.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(c.stopPrograms(), err, c.control.Stop()) }()
	config.QPS = 500
	config.Burst = 500
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if c.objects, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	if _, err := c.applyManifests(nil); err != nil {
		return err
	}
	if err := c.writeAccount(config, filepath.Join(c.directory, "connector.kubeconfig")); err != nil {
		return err
	}
	return c.obey(os.Stdin, os.Stdout)
}

// obey carries out commands until there are no more.
func (c *cluster) obey(in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode("ready"); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := c.do(strings.Fields(lines.Text()))
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
