# Each target works on a fresh clone: it makes its own environment in .venv first.
# PYTHON chooses the interpreter (3.11 to 3.13); JOBS the number of test processes.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
STAMP := $(VENV)/.stamp
GROUND ?= .venv-ground

.PHONY: book test unit ground lab serve bench lint links format address requirements clean help

help:            ## list the targets
	@grep -hE '^[a-z]+: .*##|^[a-z]+: +##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

# What belongs into the environment stands in the two files of pins; tools/environment.py looks at what they say.
$(STAMP): requirements.txt requirements-model.txt
	@$(PYTHON) tools/environment.py $(VENV)

book: $(STAMP)   ## execute every notebook and build the site into _build/html
	@$(RUN) tools/build_book.py

test: $(STAMP)   ## build what is needed and run all tests
	@$(RUN) tools/build_book.py
	$(RUN) -m pytest -n $(JOBS) --dist loadfile

unit: $(STAMP)   ## the tests that need no site and no browser (under a minute)
	$(RUN) -m pytest -n $(JOBS) --dist loadfile -m "not site and not browser and not notebook and not train"

ground:          ## the tests that need neither torch nor the site, on another Python: make ground PYTHON=python3.13
	@$(PYTHON) tools/environment.py $(GROUND) --without-training
	$(GROUND)/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not site and not browser and not train"

lab: $(STAMP)    ## open the notebooks in JupyterLab
	$(RUN) tools/lab.py

serve: book      ## build the site and serve it on http://localhost:8000
	$(RUN) -m http.server --directory _build/html 8000

bench: $(STAMP)  ## speed, as ratios measured side by side in one run
	$(RUN) -m bench

lint: $(STAMP)   ## ruff, codespell, notebooks without outputs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(RUN) tools/address.py --check
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb

links: $(STAMP)  ## ask every external link whether it is still there (needs a network)
	$(RUN) -m tools.links

format: $(STAMP) ## let ruff format, and strip outputs
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/nbstripout --keep-id notebooks/*.ipynb

address: $(STAMP) ## make address URL=https://github.com/you/your-fork : Colab buttons and install lines
	$(RUN) tools/address.py "$(URL)"

requirements: $(STAMP) ## resolve pyproject.toml into requirements.txt
	$(RUN) -m pip install --quiet pip-tools
	$(RUN) tools/requirements.py

clean:           ## remove what was built (the environment stays; rm -rf .venv for that)
	rm -rf _build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
