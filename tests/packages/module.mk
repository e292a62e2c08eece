# Tests the results of `make deb`, `make static` and `make dist` where they will be used: in an empty Debian, in an empty
# folder, without git. Needs root, for chroot, and the packages of `make deps-packages`. Not part of `make test`.
BARE_ROOT := $(OUT)/packages/root

# Runs the tests that are possible here: if a bare Debian cannot be made, all except those inside it. The package is installed
# there while the source archive is compiled.
.PHONY: packages-test
packages-test: deb static $(OUT)/fakecore
	@OUT=$(OUT) tests/parallel.py packages 'python3 -B -m unittest -b tests.packages.test_dist' \
	  'tests/packages/bare_root.sh $(DEB)/ncclprof_*.deb $(BARE_ROOT) && python3 -B -m unittest -b tests.packages.test_bare_root' \
	  'python3 -B -m unittest -b tests.packages.test_deb' 'python3 -B -m unittest -b tests.packages.test_static'
