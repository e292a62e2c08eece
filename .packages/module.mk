# Packages for people who do not build from a clone, written to build/: a Debian package, a static program, a source archive.

# The date of all files in a package: that of the commit or, in an unpacked source archive, of its files.
SOURCE_DATE = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile))

# Tool and plugin are one package, because ncclprof record and the plugin must have the same version and be on the same nodes.
# The plugin alone is one file that needs libc and zlib; to have only the plugin in an image, copy this file. Debugging symbols
# stay in build/ncclprof, which has the same build id.
DEB := $(OUT)/deb

.PHONY: deb
deb: all
	@rm -rf $(DEB) && mkdir -p $(DEB)
	@$(MAKE) -s install DESTDIR=$(DEB)/root PREFIX=/usr
	@SOURCE_DATE_EPOCH=$(SOURCE_DATE) .packages/deb.sh $(DEB) $(VERSION)

# The tool for nodes on which nothing can be installed. All objects except one are those of `make`.
STATIC := $(OUT)/static
STATIC_OBJECTS := $(filter-out $(OUT)/object/cmd/record.o,$(CMD_OBJECTS)) $(STATIC)/record.o $(STATIC)/no_loader.o
STATIC_LDFLAGS := $(filter-out -pie,$(NCCLPROF_LDFLAGS)) -static-pie -s \
                  $(foreach name,dlopen dlsym dlclose dlerror,-Wl,--wrap=$(name))

.PHONY: static
static: $(STATIC)/ncclprof

$(STATIC)/ncclprof: $(STATIC_OBJECTS) $(OUT)/libncclprof.a $(STATIC)/libcjson.a
	$(CC) $(STATIC_LDFLAGS) $(LDFLAGS) -o $@ $^ -lsqlite3 -lz -lpthread -lm

$(STATIC)/record.o: cmd/record.c
$(STATIC)/no_loader.o: .packages/no_loader.c
$(STATIC)/record.o $(STATIC)/no_loader.o:
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) -DNCCLPROF_STATIC $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(STATIC)/record.d $(STATIC)/no_loader.d

$(STATIC)/libcjson.a: .packages/cjson.sh
	@mkdir -p $(@D)
	CC='$(CC)' AR='$(AR)' .packages/cjson.sh $@

# The files of the last commit. The bytes depend only on the commit and the versions of git and gzip.
DIST := ncclprof-$(VERSION)

.PHONY: dist
dist:
	@git rev-parse --verify --quiet HEAD >/dev/null 2>&1 || { echo 'make dist: this is not a git clone with a commit' >&2; exit 1; }
	@git diff --quiet HEAD || echo 'make dist: uncommitted changes are not in the archive' >&2
	@mkdir -p build
	@git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ -o build/$(DIST).tar HEAD
	@gzip -9nf build/$(DIST).tar
	@echo build/$(DIST).tar.gz
