"""Reads an Apache Parquet file, from the specification of the format alone (github.com/apache/parquet-format: parquet.thrift,
Encodings.md): a second reader for the output of export. Violations of the format, and wrong metadata, raise AssertionError.
"""
import gzip
import struct
from pathlib import Path

INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2
UNCOMPRESSED, GZIP = 0, 2
OPTIONAL, UTF8 = 1, 0


class Bytes:
    """Bytes with a read position."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        assert 0 <= count <= len(self.data) - self.at, "it ends too early"
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte, = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def left(self):
        return len(self.data) - self.at


def zigzag(value):
    return value >> 1 ^ -(value & 1)


def value_of(source, kind):
    """A value of Thrift's compact protocol: a struct is {field number: value}."""
    if kind in (4, 5, 6):
        return zigzag(source.varint())
    if kind == 8:
        return source.take(source.varint())
    if kind == 9:
        head, = source.take(1)
        count = source.varint() if head >> 4 == 15 else head >> 4
        return [value_of(source, head & 15) for _ in range(count)]
    assert kind == 12, f"type {kind}"
    fields, number = {}, 0
    while True:
        head, = source.take(1)
        if head == 0:
            return fields
        number = number + (head >> 4) if head >> 4 else zigzag(source.varint())
        assert number not in fields
        fields[number] = value_of(source, head & 15)


def hybrid(source, width, count):
    """`count` numbers of the hybrid encoding of runs and packed bits. The unused places of the last group of eight must be
    0.
    """
    numbers = []
    while len(numbers) < count:
        head = source.varint()
        if head & 1:
            groups = head >> 1
            assert groups
            bits = int.from_bytes(source.take(groups * width), "little")
            numbers += [bits >> i * width & (1 << width) - 1 for i in range(groups * 8)]
            assert len(numbers) < count + 8 and not any(numbers[count:])
            del numbers[count:]
        else:
            assert head, "a run of nothing"
            numbers += [int.from_bytes(source.take((width + 7) // 8), "little")] * (head >> 1)
    assert len(numbers) == count, "a run goes beyond the page"
    return numbers


def plain(source, kind):
    if kind == BYTE_ARRAY:
        return source.take(struct.unpack("<I", source.take(4))[0]).decode()
    return struct.unpack("<q" if kind == INT64 else "<d", source.take(8))[0]


class Chunk:
    """A column of a row group: its values, with None for null."""

    def __init__(self, data, metadata, kind, begin):
        self.kind, self.metadata = kind, metadata
        self.values, self.dictionary, self.encodings, self.pages = [], None, [], 0
        assert metadata[1] == kind
        self.codec, self.statistics = metadata[4], metadata[12]
        source, unpacked = Bytes(data, begin), 0
        assert metadata.get(11, metadata[9]) == begin, "its first page is where it begins"
        while source.at < begin + metadata[7]:
            page_begin = source.at
            header = value_of(source, 12)
            unpacked += source.at - page_begin + header[2]
            content = source.take(header[3])
            if self.codec == GZIP:
                content = gzip.decompress(content)
            assert len(content) == header[2]
            if header[1] == DICTIONARY_PAGE:
                assert page_begin == metadata[11] and self.dictionary is None
                self.read_dictionary(Bytes(content), header[7])
            else:
                assert header[1] == DATA_PAGE
                assert self.pages or page_begin == metadata[9]
                self.read_page(Bytes(content), header[5])
        assert source.at == begin + metadata[7] and unpacked == metadata[6]
        assert len(self.values) == metadata[5]
        assert (11 in metadata) == (self.dictionary is not None)
        used = {RLE, *self.encodings} | ({PLAIN} if self.dictionary is not None else set())
        assert used <= set(metadata[2]), "an encoding that it does not tell"
        self.check_statistics()

    def read_dictionary(self, source, header):
        assert header[2] == PLAIN
        self.dictionary = [plain(source, self.kind) for _ in range(header[1])]
        assert not source.left() and len(set(map(repr, self.dictionary))) == len(self.dictionary)  # -0.0 is not 0.0

    def read_page(self, source, header):
        assert header[3] == header[4] == RLE
        levels = Bytes(source.take(struct.unpack("<I", source.take(4))[0]))
        present = hybrid(levels, 1, header[1])
        assert not levels.left()
        if header[2] == RLE_DICTIONARY:
            width, = source.take(1)
            assert width <= 32
            values = [self.dictionary[place] for place in hybrid(source, width, sum(present))]
        else:
            assert header[2] == PLAIN
            values = [plain(source, self.kind) for _ in range(sum(present))]
        assert not source.left()
        values = iter(values)
        self.values += [next(values) if is_there else None for is_there in present]
        self.encodings.append(header[2])
        self.pages += 1

    def bound(self, field):
        if field not in self.statistics:
            return None
        said = Bytes(self.statistics[field])
        return said.data.decode() if self.kind == BYTE_ARRAY else plain(said, self.kind)

    def check_statistics(self):
        """The bounds by which engines skip row groups. Texts are ordered by their bytes, which is the order of code points."""
        present = [value for value in self.values if value is not None]
        self.least, self.greatest = self.bound(6), self.bound(5)
        assert self.statistics[3] == len(self.values) - len(present)
        assert (self.least is None) == (self.greatest is None)
        if self.least is not None:
            assert self.least == min(present) and self.greatest == max(present)


class Table:
    """The names and kinds of the columns, row groups as {column: Chunk}, and all rows."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        assert data[:4] == data[-4:] == b"PAR1"
        length, = struct.unpack("<I", data[-8:-4])
        footer = Bytes(data[4:-8], len(data) - 12 - length)
        said = value_of(footer, 12)
        assert not footer.left() and said[1] == 1
        root, *columns = said[2]
        assert root[5] == len(columns) and 1 not in root
        self.name = root[4].decode()
        self.kinds = {column[4].decode(): column[1] for column in columns}
        assert len(self.kinds) == len(columns)
        for column in columns:
            assert column[3] == OPTIONAL
            is_text = column[1] == BYTE_ARRAY
            assert column.get(6) == (UTF8 if is_text else None) and column.get(10) == ({1: {}} if is_text else None)
        assert said[7] == [{1: {}}] * len(columns), "bounds go by the order of types"
        self.keys = {pair[1].decode(): pair[2].decode() for pair in said[5]}
        self.created_by = said[6].decode()
        self.groups, self.rows, at = [], [], 4
        for group in said[4]:
            at = self.read_group(data, group, at)
        assert at == len(data) - 8 - length, "row groups take all of the file"
        assert len(self.rows) == said[3]

    def read_group(self, data, group, begin):
        assert group[5] == begin and len(group[1]) == len(self.kinds)
        chunks, at = {}, begin
        for (name, kind), chunk in zip(self.kinds.items(), group[1]):
            metadata = chunk[3]
            assert metadata[3] == [name.encode()] and chunk[2] == 0
            chunks[name] = Chunk(data, metadata, kind, at)
            assert metadata[5] == group[3]
            at += metadata[7]
        assert group[6] == at - begin and group[2] == sum(chunk.metadata[6] for chunk in chunks.values())
        self.groups.append(chunks)
        self.rows += zip(*(chunk.values for chunk in chunks.values()))
        return at
