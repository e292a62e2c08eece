# Tests the results of `make deb`, `make static` and `make dist` where they will be used: in an empty Debian, in an empty
# folder, without git. Needs root, for chroot, and the packages of `make deps-packages`. Not part of `make test`.
BARE_ROOT := $(OUT)/packages/root

# Runs the tests that are possible here: if a bare Debian cannot be made, all except those inside it.
.PHONY: packages-test
packages-test: deb static $(OUT)/fakecore
	@modules='tests.packages.test_dist tests.packages.test_deb tests.packages.test_static'; \
	tests/packages/bare_root.sh $(DEB)/ncclprof_*.deb $(BARE_ROOT); case $$? in \
	0) modules="$$modules tests.packages.test_bare_root" ;; \
	77) echo 'not tried: the package in a bare Debian, which cannot be made here' ;; \
	*) echo 'FAILED the package cannot be installed in a bare Debian'; exit 1 ;; esac; \
	for module in $$modules; do set -- "$$@" "python3 -B -m unittest -b $$module"; done; \
	OUT=$(OUT) tests/parallel.py packages "$$@"
