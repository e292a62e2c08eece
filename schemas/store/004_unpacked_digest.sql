-- Version 4: a trace that was packed, or unpacked, since it came in is known again.

-- Of the bytes that come out of gzip; of a file that is not packed the same as digest. NULL: not known, since reading
-- failed or the file came into an earlier version. Not unique: an earlier version may hold a trace packed and unpacked.
ALTER TABLE file ADD COLUMN unpacked_digest TEXT;
-- What is as long unpacked as on disk was not packed.
UPDATE file SET unpacked_digest = digest WHERE unpacked_bytes = bytes;
CREATE INDEX file_unpacked_digest ON file (unpacked_digest);
