# One line each for the jobs people come for; everything else is `rag-harness --help`.
#   make bench                                   the demo: retrieval, then answers of a small model on this machine
#   make bench SYSTEM=naive DATASET=multihop_rag ARGS="--set dataset.sample.per_type=5"
#   make sweep CONFIG=configs/sweeps/top_k.yaml  many runs from one config
#   make reproduce PAPER=thesis MODELS=local     every table and figure of a paper; MODELS=published needs a key
#   make report RUNS="results/demo--*"           a report of runs that are there
#   make perf BENCHES="startup report"           how fast and how large it is, beside what else there is
#   make test | make check | make setup | make clean
DATASET ?= demo
CONFIG  ?= $(or $(wildcard configs/bench/$(DATASET).yaml),configs/bench/default.yaml)
# The demo in two halves, in one report; of one system, its answers.
FIRST    = $(if $(filter demo,$(DATASET)),$(if $(SYSTEM),,$(if $(filter file,$(origin CONFIG)),configs/bench/retrieval.yaml)))
ARGS    ?=
RUNS    ?=
MODELS  ?= local
BIN      = .venv/bin
BENCHES  = startup runner call_cost judgements embedding local_model bertscore kg_scores report memory growth
export PYTHON
# The files of the tests that are marked so; tests/conftest.py holds that no others are.
marked   = $$(grep -rl --include='test_*.py' 'mark\.$(1)' tests | sort)

.PHONY: setup bench sweep reproduce report test check perf clean

setup:
	@scripts/setup bench

bench: setup
	@$(BIN)/rag-harness run $(addprefix --config ,$(FIRST) $(CONFIG)) --dataset $(DATASET) $(if $(SYSTEM),--system $(SYSTEM)) $(ARGS)

sweep: CONFIG = configs/sweeps/top_k.yaml
sweep: setup
	@$(BIN)/rag-harness run --config $(CONFIG) $(ARGS)

reproduce: setup
	@$(BIN)/rag-harness reproduce $(or $(PAPER),$(error name a paper: make reproduce PAPER=thesis)) --models $(MODELS) $(ARGS)

report: setup
	@$(BIN)/rag-harness report $(or $(RUNS),$(error name the runs: make report RUNS="...", see `rag-harness plan`)) $(ARGS)

# Everything, with the real components; the slow part runs after the quick one, so that a slip shows early, and the
# language model alone: it is many times slower beside anything else. Slow tests wait for servers, kills and time limits
# half of the time, so four share two cores. To read the files of the others would take each of the four as long
# as some of the tests. What could not be tested stands in the last lines.
test:
	@scripts/setup dev --torch
	@scripts/chromium install || true
	@$(BIN)/pytest -q -n 2 -m "not slow" $(ARGS)
	@$(BIN)/pytest -q -m alone $(call marked,alone) $(ARGS)
	@$(BIN)/pytest -q -n 4 --dist loadscope --no-loadscope-reorder -m "slow and not alone" --durations=30 \
	  $(call marked,slow) $(ARGS)

# Before every commit; three to four minutes on two cores.
check:
	@scripts/setup dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -q -n 2 -m "not slow"

# Every bench, one after the other, on a machine that does nothing else; docs/PERFORMANCE.md holds what they said.
perf:
	@scripts/setup dev --torch
	@scripts/chromium install || true
	@for bench in $(BENCHES); do echo "\n== $$bench"; $(BIN)/python scripts/bench/$$bench.py $(ARGS) || exit 1; done

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache *.egg-info
