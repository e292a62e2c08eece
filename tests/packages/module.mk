# What `make deb`, `make static` and `make dist` give, tried where it is meant to go: an empty Debian, an empty folder, a
# place without git. It takes root, for chroot, and what `make deps-packages` installs; no part of `make test`.
BARE_ROOT := $(OUT)/packages/root

# The tests that can be run here: without a bare Debian, all but those in it.
.PHONY: packages-test
packages-test: deb static $(OUT)/fakecore
	@modules='tests.packages.test_dist tests.packages.test_deb tests.packages.test_static'; \
	tests/packages/bare_root.sh $(DEB)/ncclprof_*.deb $(BARE_ROOT); case $$? in \
	0) modules="$$modules tests.packages.test_bare_root" ;; \
	77) echo 'not tried: the package in a bare Debian, which cannot be made here' ;; \
	*) echo 'FAILED the package cannot be installed in a bare Debian'; exit 1 ;; esac; \
	for module in $$modules; do set -- "$$@" "python3 -B -m unittest -b $$module"; done; \
	OUT=$(OUT) tests/parallel.py packages "$$@"
