# Shards under real schedulers: Debian's Slurm with four nodes on this host, and Open MPI. `make deps-cluster` installs
# them. Must run as root, because slurmd starts tasks as their users. All daemons listen on the loopback address.
.PHONY: cluster-test
cluster-test: $(OUT)/ncclprof $(OUT)/simulate
	NCCLPROF=$(OUT)/ncclprof tests/parallel.py cluster \
	  $(foreach module,slurm mpi,'python3 -B -m unittest -b tests.cluster.test_$(module)')
