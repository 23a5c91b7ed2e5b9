# Makefile of yquota.
#
# For packagers: this is a plain PGXS makefile. "make", "make install" and "make installcheck" (against a running
# server) take PG_CONFIG, DESTDIR and VPATH as usual. They call only the compiler and the server's own tools. "make
# clean" also removes the private servers.
#
# For developers: "make check", "make soak", "make demo" and "make bench" install the missing packages and work in
# private servers of their own under build/ (see test/scripts/).
#
# STRICT=1 asks for more warnings and turns them into errors.  Unused parameters
# are no mistake here: the server prescribes the signatures of its callbacks.
# A server that gcc built has flags and attributes that clang does not know, which
# are no mistake with CC=clang.

PG_CONFIG ?= pg_config

OWN_GOALS := bench check check-shape citus demo demo-stop help kubernetes oracle oracle-bench oracle-compare oracle-replay packages soak

ifneq ($(filter $(OWN_GOALS),$(MAKECMDGOALS)),)

# These goals run before the server's headers are installed, so they must not read PGXS. A second make runs the other
# goals of the same command line.
.PHONY: $(MAKECMDGOALS)
.NOTPARALLEL:

check:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/check.sh

check-shape:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/check_shape.sh

packages:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/install_packages.sh list

soak:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/soak.sh

demo:
	@PG_CONFIG='$(PG_CONFIG)' docs/demo/run.sh

demo-stop:
	@PG_CONFIG='$(PG_CONFIG)' docs/demo/stop.sh

bench:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/bench.sh

citus:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/make_citus.sh

kubernetes:
	@test/scripts/make_kubernetes.sh

oracle:
	@test/scripts/oracle.sh $(ORACLE_AREAS)

oracle-bench:
	@ORACLE_BENCH="$${ORACLE_BENCH:-10000}" test/scripts/oracle.sh

oracle-compare:
	@ORACLE_COMPARE="$${ORACLE_COMPARE:-10}" test/scripts/oracle.sh $(ORACLE_AREAS)

oracle-replay:
	@PG_CONFIG='$(PG_CONFIG)' test/scripts/replay_decisions.sh $(ORACLE_RECORDED:%=%/allocation.jsonl)

help:
	@echo 'make                  build for the server of PG_CONFIG'
	@echo 'make install          install into that server (DESTDIR is honoured)'
	@echo 'make installcheck     regression and isolation tests in a running server'
	@echo 'make check            install what is missing, build, run every test in a private server'
	@echo 'make soak             the tests that go on for hours if told to (SOAK_MINUTES=20 by default, SOAK_ONLY=name,name, SOAK_SHORT=1)'
	@echo 'make check-shape      only the checks that read the sources'
	@echo 'make packages         tell what the others would install, and install nothing'
	@echo 'make demo             install what is missing, build, show yquota at work'
	@echo 'make demo-stop        stop the server of the demonstration'
	@echo 'make bench            install what is missing, build, measure (BENCH_SCALE=small for a quick look)'
	@echo 'make citus            bring and build Citus for the tests and the bench that use it (CITUS_SOURCE=its repository or a copy)'
	@echo 'make kubernetes       build the programs of Kubernetes that tests of its connector need (Go; the tests are part of "make soak")'
	@echo "make oracle           record decisions of Hadoop's own scheduler (ORACLE_AREAS, ORACLE_SEED, ORACLE_COUNT; test/oracle/README.md)"
	@echo "make oracle-bench     time rounds of Hadoop's preemption in a large cluster (ORACLE_BENCH=10000 nodes, which takes 8 GB)"
	@echo 'make oracle-compare   play recorded decisions again in Hadoop (ORACLE_COMPARE=10 of each area, ORACLE_RECORDED=directory)'
	@echo 'make oracle-replay    play in yquota what "make oracle" recorded of allocation, and tell where the two part (ORACLE_RECORDED=directory)'

$(filter-out $(OWN_GOALS),$(MAKECMDGOALS)):
	+@$(MAKE) --no-print-directory $@

else

# Where the sources are: here, or where VPATH says.
source_dir := $(or $(VPATH),.)
files = $(patsubst $(source_dir)/%,%,$(sort $(wildcard $(addprefix $(source_dir)/,$(1)))))

EXTENSION := yquota
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" $(source_dir)/yquota.control)
install_script := sql/yquota--$(EXTVERSION).sql

MODULE_big := yquota
PGFILEDESC := "yquota - quota, pricing and scheduling of a shared compute cluster"
OBJS := $(patsubst %.c,%.o,$(call files,src/*.c src/*/*.c src/*/*/*.c))

DATA_built := $(install_script)

PG_CPPFLAGS = -I$(source_dir)/src -DYQ_VERSION='"$(EXTVERSION)"'
PG_CFLAGS = -MMD -MP -Werror=implicit-function-declaration
ifdef STRICT
PG_CFLAGS += -Wall -Wextra -Wno-unused-parameter -Werror $(if $(findstring clang,$(CC)),-Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument)
endif

# pg_regress of PostgreSQL 15 looks for expected/ below the input directory
# only; the link lets the files stand at the top.
REGRESS := $(notdir $(basename $(call files,test/sql/*.sql)))
REGRESS_OPTS = --inputdir=$(source_dir)/test --load-extension=yquota
ISOLATION := $(notdir $(basename $(call files,test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=$(source_dir)/test --load-extension=yquota
REGRESS_PREP = $(source_dir)/test/expected

EXTRA_CLEAN = $(OBJS:.o=.d) $(source_dir)/test/expected

PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(wildcard $(PGXS)),)
$(error no PGXS from "$(PG_CONFIG)": install the development package of the PostgreSQL server (on Debian 12 postgresql-server-dev-15) or set PG_CONFIG)
endif
include $(PGXS)

# Objects go beside the sources' names, also in a build directory of its own.
ifdef VPATH
$(shell mkdir -p sql $(sort $(dir $(OBJS))))
endif

# A changed header rebuilds what includes it.  The dependencies are written for
# the object; its bitcode follows the object.
-include $(OBJS:.o=.d)
$(OBJS:.o=.bc): %.bc: %.o

# The install script is its parts in the order of their numbers, which are
# unique over all areas.  Compared every time, so that a part that went away is
# noticed, too.
parts := $(foreach part,$(sort $(foreach part,$(call files,sql/*/[0-9][0-9][0-9]_*.sql),$(notdir $(part))|$(part))),$(lastword $(subst |, ,$(part))))
$(install_script): FORCE
	@cat $(addprefix $(source_dir)/,$(parts)) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else echo 'joining sql/*/NNN_*.sql into $@'; mv $@.new $@; fi

$(source_dir)/test/expected:
	ln -sfn ../expected $@

# The private servers of other goals go as well.
clean: clean-private-servers
clean-private-servers:
	@$(source_dir)/test/scripts/clean.sh

.PHONY: FORCE clean-private-servers

endif
