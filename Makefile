# Each target brings what it needs onto the machine first; tools/setup.sh says what that is.
BIN := .venv/bin
export PAISHARE_HOME ?= $(CURDIR)/.paishare

.PHONY: help demo run dev image frontend messages test test-github lint sure bench bench-web screenshots clean

help:
	@echo "make demo    set everything up, train a first model, then serve at http://127.0.0.1:8080"
	@echo "make run     serve without submitting a job"
	@echo "make dev     serve, and load changed Python files at once"
	@echo "make image   build the image of the bundled jobs where it is missing"
	@echo "make frontend  build the pages' scripts and styles anew, after a change in frontend/ (needs node 20)"
	@echo "make messages  bring registry/translations to what the pages say"
	@echo "make test    run all tests: unit, functional and browser"
	@echo "make test-github   try the flows on the real GitHub, with GITHUB_TOKEN and GITHUB_ORG"
	@echo "make lint    flake8, isort, mypy"
	@echo "make sure    lint and test"
	@echo "make bench   measure what docs/ promises and print tables"
	@echo "make bench-web   measure the pages: Lighthouse, and a real browser on a job's log"
	@echo "make screenshots   take the pictures of docs/images anew"
	@echo "make clean   remove what was built here, but not the state in .paishare"
	@echo "PORT=8081 and PAISHARE_HOME=folder change where demo, run and dev serve and keep state."

demo:
	@tools/setup.sh venv engine
	@$(BIN)/paishare demo

run: image
	@$(BIN)/paishare serve

dev: image
	@GUNICORN_CMD_ARGS="--reload --access-logfile -" $(BIN)/paishare serve

image:
	@tools/setup.sh venv engine
	@$(BIN)/python -m runner build-image

frontend:
	@cd frontend && npm ci && npm run --silent build

messages:
	@tools/setup.sh venv
	@$(BIN)/python tools/messages.py

test:
	@tools/setup.sh venv engine image-tools browser postgres
	@$(BIN)/python -m runner build-image
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder

# Make puts GITHUB_TOKEN and GITHUB_ORG into the environment; without them the stand-in is asked alone.
test-github:
	@tools/setup.sh venv
	$(BIN)/python -m pytest tests/github --tb=native -rs

lint:
	@tools/setup.sh venv
	$(BIN)/python -m flake8 registry runner tests bench wsgi.py
	$(BIN)/python -m isort --check registry runner tests bench wsgi.py
	$(BIN)/python -m mypy

sure: lint test

bench:
	@tools/setup.sh venv engine image-tools browser
	@$(BIN)/python -m runner build-image
	@$(BIN)/python -m pip install -qq --editable '.[bench]'
	@for script in $$(grep -l __main__ bench/*.py); do echo "== $$script"; $(BIN)/python -m bench.$$(basename $$script .py) || exit 1; done
	@echo "== bench/search.py over 100,000 versions, the last step and the longest"; date
	@$(BIN)/python -m bench.search --versions 100000

bench-web:
	@tools/setup.sh venv engine image-tools browser
	@$(BIN)/python -m runner build-image
	@$(BIN)/python -m bench.web

screenshots:
	@tools/setup.sh venv engine image-tools browser fonts
	@$(BIN)/python -m runner build-image
	@$(BIN)/python tools/screenshots.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .hypothesis test-results
	find registry runner tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
